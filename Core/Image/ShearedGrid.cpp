#include "Core/Image/ShearedGrid.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Image/Files/InputError.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr double tolerated = 0.1; // by how much of the smallest spacing a voxel may lie beside its place

}

template <int D>
bool isSheared(const ImageGeometry<D>& geometry)
{
  const auto lengthMm = [&](int axis) {
    return static_cast<double>(geometry.size[axis]) * geometry.spacingMm[axis];
  };
  double largestMm = 0;
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < i; ++j) {
      double cosine = 0;
      for (int d = 0; d < D; ++d)
        cosine += geometry.direction[d][i] * geometry.direction[d][j];
      largestMm += std::abs(cosine) / 2 * (lengthMm(i) + lengthMm(j)); // each axis turns by half the angle
    }
  return largestMm > tolerated * *std::ranges::min_element(geometry.spacingMm);
}

template <int D>
std::string whyNotHeld(const std::string& format, const ImageGeometry<D>& geometry)
{
  if (D == 3 && format == "dcm" && determinant(geometry.direction) < 0)
    return "cannot hold a grid whose axes are left-handed: its slices are stacked along the normal of their "
           "rows and columns, so the voxels would lie elsewhere";
  if (!holdsOnlyPerpendicularAxes(format))
    return "";
  if (isSheared(geometry))
    return "cannot hold a grid whose axes are not perpendicular, such as that of a CT with gantry tilt: the "
           "voxels would lie elsewhere";
  const auto roundedByMm = [](double mm) {
    return std::abs(static_cast<double>(static_cast<float>(mm)) - mm);
  };
  double largestMm = 0;
  for (int d = 0; d < D; ++d)
    largestMm =
        std::max(largestMm, roundedByMm(geometry.originMm[d])
                                + roundedByMm(geometry.spacingMm[d]) * static_cast<double>(geometry.size[d]));
  return largestMm <= tolerated * *std::ranges::min_element(geometry.spacingMm)
             ? ""
             : "keeps positions as 32-bit floats: the voxels would lie " + shortText(largestMm)
                   + " mm beside their place, more than a tenth of their spacing";
}

template <int D>
void checkHoldsGrid(const std::string& format, const ImageGeometry<D>& geometry)
{
  if (const std::string wrong = whyNotHeld(format, geometry); !wrong.empty())
    failAs(ExitCode::unwritableOutput, "image format \"" + format + "\"", wrong,
           "mha, mhd, nrrd, nhdr, h5, hdf5");
}

template <int D>
std::string gridLostBy(const std::string& format, const ImageGeometry<D>& geometry)
{
  const std::string lost = geometryLostBy(format, D);
  return lost.empty() && format == "dcm" && isSheared(geometry)
             ? "shift of the slices against each other (gantry tilt)"
             : lost;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(isSheared<D>, whyNotHeld<D>, checkHoldsGrid<D>, gridLostBy<D>);

}
