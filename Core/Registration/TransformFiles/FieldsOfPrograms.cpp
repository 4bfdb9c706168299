#include "Core/Registration/TransformFiles/FieldsOfPrograms.h"

#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/ItkTransformFiles/NiftiField.h"
#include "Core/Registration/TransformFiles/MatrixFiles.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

Vec<3> plus(const Vec<3>& a, const Vec<3>& b, double factor = 1)
{
  return {a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]};
}

/// LPS from RAS, and back.
Vec<3> turned(const Vec<3>& v)
{
  return {-v[0], -v[1], v[2]};
}

/// The variance of vectors, added up over the axes.
class Spread {
public:
  void add(const Vec<3>& value)
  {
    ++count_;
    for (int d = 0; d < 3; ++d) {
      const double before = value[d] - mean_[d];
      mean_[d] += before / count_;
      squares_ += before * (value[d] - mean_[d]);
    }
  }
  double squares() const { return squares_; }

private:
  double count_ = 0, squares_ = 0;
  Vec<3> mean_{};
};

}

VectorImage<3> readNiftyRegField(const std::string& path)
{
  const NiftiIntent intent = niftiIntent(path);
  const bool isPosition = intent.parameter == 0;
  if (!isPosition && intent.parameter != 1)
    failToRead(path,
               "NiftyReg's control points or velocities (parameter of the intent: "
                   + std::to_string(static_cast<int>(intent.parameter)) + ")",
               "a field of positions or displacements, which reg_transform -ref FIXED -def FILE FIELD.nii.gz "
               "makes of it");
  VectorImage<3> field = readVectorImage<3>(path, {});
  if (field.components != 3)
    failToRead(path, "vectors of " + std::to_string(field.components) + " components", "3");
  replaceVectors(field, [&](const Vec<3>& pointMm, const Vec<3>& vector) {
    return isPosition ? plus(turned(vector), pointMm, -1) : turned(vector);
  });
  return field;
}

VectorImage<3> readFnirtField(const std::string& path, const ImageGeometry<3>& moving)
{
  constexpr int fnirtIntent = 2006;
  if (const int code = niftiIntent(path).code; code != fnirtIntent)
    failToRead(path,
               "no field of fnirt (the intent of the NIfTI file is " + std::to_string(code) + ", not 2006)",
               "a field; fnirtfileutils --in=FILE --ref=FIXED --withaff --out=FIELD.nii.gz makes one of "
               "fnirt's coefficients");
  std::vector<std::string> notes;
  const std::vector<ImagePointer<3>> volumes = readVolumes(path, {}, notes);
  if (volumes.size() != 3)
    failToRead(path, "a field of " + std::to_string(volumes.size()) + " volumes", "3");
  VectorImage<3> field{volumes.front()->geometry, 3, {}};
  for (std::size_t v = 0; v < field.geometry.voxelCount(); ++v)
    for (const ImagePointer<3>& volume : volumes)
      field.voxels.push_back(volume->voxels[v]);
  if (!std::ranges::all_of(field.voxels, [](float mm) { return std::isfinite(mm); }))
    failToRead(path, "a displacement is no finite number", "finite numbers of mm");
  const AffineMap<3> fixedFromPoint = fslFromPoint(field.geometry),
                     pointFromMoving = inverse(fslFromPoint(moving));
  Spread asWays, asPlaces;
  replaceVectors(field, [&](const Vec<3>& pointMm, const Vec<3>& vector) {
    const Vec<3> from = fixedFromPoint(pointMm);
    asWays.add(vector);
    asPlaces.add(plus(vector, from, -1));
    return plus(pointFromMoving(plus(from, vector)), pointMm, -1);
  });
  if (asWays.squares() > asPlaces.squares())
    failToRead(path, "its vectors are places (absolute), not ways from the voxels (relative)",
               "a relative field, which convertwarp --abs --relout makes of it");
  return field;
}

}
