#include "Core/Runs/VolumeChange.h"

#include "Core/Compute/Log.h"
#include "Core/Registration/Fields/FieldOfLattice.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/Stage/KnownComponents.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr std::size_t wantedVoxels = 300'000; // rounding of the step makes it 10^6 at most

/// Drops the voxels that the mask does not contain.
template <int D>
void keepInMask(const Mask<D>& mask, Image<D>& image)
{
  const AffineMap<D> pointFromIndex = image.geometry.pointFromIndex();
  std::size_t kept = 0;
  Vec<D> index{};
  for (const float value : image.voxels) {
    if (mask.contains(pointFromIndex(index)))
      image.voxels[kept++] = value;
    for (int d = 0; d < D && ++index[d] == static_cast<double>(image.geometry.size[d]); ++d)
      index[d] = 0;
  }
  image.voxels.resize(kept);
}

}

std::string VolumeChange::whichVoxels() const
{
  const std::string count = std::to_string(voxels) + " voxels of the fixed image (and mask)";
  return voxelStep == 1 ? "all " + count
                        : count + ", one of " + std::to_string(voxelStep) + " along each axis";
}

std::string VolumeChange::text() const
{
  return "Determinant of the spatial Jacobian at " + whichVoxels() + ": least " + decimals(least, 4)
         + ", percentile 1 " + decimals(percentile1, 4) + ", median " + decimals(median, 4)
         + ", percentile 99 " + decimals(percentile99, 4) + ", largest " + decimals(largest, 4)
         + "; folded voxels: " + std::to_string(folded) + ".";
}

std::string VolumeChange::warning(const std::vector<std::string>& metrics,
                                  const std::string& gridSpacing) const
{
  if (folded == 0)
    return "";
  const std::string penalty = knowncomponents::foldingPenalty;
  return "the transform folds at " + std::to_string(folded) + " of " + whichVoxels()
         + ": its spatial Jacobian has a determinant of 0 or less there, down to " + decimals(least, 3)
         + ". Usual remedies: "
         + (std::ranges::count(metrics, penalty) > 0
                ? "a larger weight of \"" + penalty + "\", a smaller (FoldingSampleGridSpacing)"
                : "(Metric \"" + penalty + "\") beside the image metric")
         + ", a larger weight of \"" + knowncomponents::bendingPenalty + "\", or a larger (" + gridSpacing
         + ").";
}

template <int D>
std::optional<VolumeChange> volumeChange(const Context& context, const Registry& registry,
                                         const TransformChain<D>& chain, const ImagePointer<D>& fixed,
                                         const MaskPointer<D>& mask)
{
  if (isLinearChain<D>(&chain))
    return {};
  const VoxelLattice<D> lattice = gridOfAbout<D>(wantedVoxels, fixed, mask);
  const ImageGeometry<D> geometry = geometryOf<D>(lattice);
  std::optional<FieldMethod<D>> method;
  if constexpr (D < 4)
    method = FieldMethods<D>(registry, chain, geometry, "auto", "the change of volume")
                 .choose(context.device.kind, FieldQuantity::derivatives);
  Context where = method ? context : context.onCpu();
  Image<D> determinants = jacobianDeterminants<D>(where, chain, geometry, method);
  if (mask)
    keepInMask<D>(*mask, determinants);
  std::vector<float>& values = determinants.voxels;
  if (values.empty())
    return {};
  VolumeChange change;
  change.voxelStep = lattice.step[0];
  change.voxels = values.size();
  for (float& value : values) {
    if (std::isnan(value)) // which has no place in an order
      value = -std::numeric_limits<float>::infinity();
    change.folded += !(value > 0);
  }
  static_cast<OrderStatistics&>(change) = orderStatistics(values);
  return change;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(volumeChange<D>);

}
