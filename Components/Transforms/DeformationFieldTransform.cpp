#include "Components/Transforms/DeformationFieldTransform.h"

#include "Components/Transforms/Shared/TransformFileReading.h"
#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Registration/OptimizableTransform.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

const Parameter<std::string> deformationFieldFileName =
    textParameter("DeformationFieldFileName", "", Arity::single, "image of displacements in mm");
const Parameter<std::int64_t> deformationFieldInterpolationOrder =
    integerParameter("DeformationFieldInterpolationOrder", 0, 0, Arity::single, "",
                     "0 nearest voxel, 1 linear")
        .atMost(1);

/// Objects that hold the same field share its voxels.
template <int D>
class HeldField final : public HeldTransformOnCuda<D> {
public:
  HeldField(const DisplacementImage<D>& image, std::shared_ptr<const Buffer<float>> voxels)
      : voxels_(std::move(voxels))
  {
    onCuda_.kind = TransformKind::displacementImage;
    onCuda_.map = image.indexFromPoint;
    onCuda_.points = image.size;
    onCuda_.order = image.order;
    onCuda_.displacements = voxels_->span().data();
  }
  TransformOnCuda<D> at(const Context&, std::span<const double>) override { return onCuda_; }

private:
  std::shared_ptr<const Buffer<float>> voxels_;
  TransformOnCuda<D> onCuda_;
};

}

template <int D>
const ComponentDescription& DeformationFieldTransform<D>::description()
{
  static const ComponentDescription description{
      "Transform",
      "DeformationFieldTransform",
      "x + u(x), u an image of displacements; from transform files",
      {deformationFieldFileName, deformationFieldInterpolationOrder}};
  return description;
}

template <int D>
std::unique_ptr<HeldTransformOnCuda<D>> DeformationFieldTransform<D>::hold(const Context& context,
                                                                           std::span<const double>) const
{
  return std::make_unique<HeldField<D>>(image_, voxelsOnCuda<D>(context, field_));
}

template <int D>
void DeformationFieldTransform<D>::map(Context&, const ListSamples<D>& samples, std::span<const double>,
                                       const PointsOut<D>& out) const
{
  for (std::size_t i = 0; i < samples.count; ++i) {
    const Vec<D> mappedMm = image_(samples.point(i));
    for (int k = 0; k < D; ++k)
      out[k][i] = mappedMm[k];
  }
}

template <int D>
void DeformationFieldTransform<D>::spatialDerivatives(Context&, const ListSamples<D>& samples,
                                                      std::span<const double>, double* jacobian,
                                                      double* hessian) const
{
  constexpr int pairs = symmetricCount(D);
  if (image_.order == 0)
    failAs(ExitCode::usage, "DeformationFieldTransform",
           "(DeformationFieldInterpolationOrder 0): the field jumps between voxels, its spatial Jacobian "
           "says nothing",
           "(DeformationFieldInterpolationOrder 1)");
  for (std::size_t i = 0; i < samples.count; ++i) {
    double j[D][D], h[D][pairs];
    image_.derivatives(samples.point(i), j, h);
    for (int k = 0; k < D; ++k) {
      for (int column = 0; column < D; ++column)
        jacobian[(k * D + column) * samples.count + i] = j[k][column];
      for (int s = 0; s < pairs && hessian; ++s)
        hessian[(k * pairs + s) * samples.count + i] = h[k][s];
    }
  }
}

template <int D>
std::vector<double> DeformationFieldTransform<D>::restore(const Context& host, const Parameters& file)
{
  fileName_ = file.get(deformationFieldFileName);
  if (fileName_.empty())
    file.fail(deformationFieldFileName.name, "not given", "Allowed: the path of an image of displacements");
  path_ = pathBesideTransformFile(file, deformationFieldFileName.name, fileName_);
  VectorImage<D> field = readVectorImage<D>(path_, {}, host.threads);
  if (field.components != D)
    failAs(ExitCode::unreadableInput, file.where(deformationFieldFileName.name),
           path_ + " has " + std::to_string(field.components) + " components",
           std::to_string(D) + ", a displacement in mm along each axis");
  field.geometry = geometryInUse<D>(field.geometry, file);
  setDisplacements(std::make_shared<const VectorImage<D>>(std::move(field)));
  image_.order = static_cast<int>(file.get(deformationFieldInterpolationOrder));
  return {};
}

template <int D>
void DeformationFieldTransform<D>::setDisplacements(std::shared_ptr<const VectorImage<D>> field)
{
  field_ = std::move(field);
  image_ = {field_->voxels.data(), {}, field_->geometry.indexFromPoint(), 1};
  std::ranges::copy(field_->geometry.size, image_.size.begin());
}

template <int D>
std::vector<FileEntry> DeformationFieldTransform<D>::fileEntries() const
{
  if (fileName_.empty())
    failAs(ExitCode::unwritableOutput, "DeformationFieldTransform",
           "its field comes from another program's file, which a transform parameter file cannot hold",
           "tessera-transform --write FILE.txt, which writes the field beside it");
  return {{deformationFieldFileName.name, {fileName_}, {}},
          {deformationFieldDigest, {transformDigest(path_)}, {}},
          {deformationFieldInterpolationOrder.name, {}, {static_cast<double>(image_.order)}}};
}

template <int D>
ItkTransform DeformationFieldTransform<D>::itkTransform(std::span<const double>) const
{
  if (image_.order == 0)
    failAs(ExitCode::unwritableOutput, "DeformationFieldTransform",
           "(DeformationFieldInterpolationOrder 0): ITK's displacement field transform is linear",
           "(DeformationFieldInterpolationOrder 1)");
  const std::string dimension = std::to_string(D);
  ItkTransform itk{"DisplacementFieldTransform_double_" + dimension + "_" + dimension,
                   {},
                   {field_->voxels.begin(), field_->voxels.end()}};
  const ImageGeometry<D>& geometry = field_->geometry;
  for (const std::size_t size : geometry.size)
    itk.fixedParameters.push_back(static_cast<double>(size));
  itk.fixedParameters.insert(itk.fixedParameters.end(), geometry.originMm.begin(), geometry.originMm.end());
  itk.fixedParameters.insert(itk.fixedParameters.end(), geometry.spacingMm.begin(), geometry.spacingMm.end());
  for (const auto& row : geometry.direction)
    itk.fixedParameters.insert(itk.fixedParameters.end(), row.begin(), row.end());
  return itk;
}

template <int D>
void DeformationFieldTransform<D>::pullBackSpatialDerivatives(Context&, const ListSamples<D>&,
                                                              std::span<const double>, const double*,
                                                              const double*, std::span<double>) const
{
  optimizable<D>(*this); // throws, because this transform has no parameters
}

TESSERA_INSTANTIATE_CLASS(DeformationFieldTransform);

}
