#include "Components/Resamplers/Shared/InputSlices.h"

#include "Components/Resamplers/Shared/LargestCoordinate.h"
#include "Core/Registration/Chain/OneSplineChain.h"

#include <cmath>

namespace tessera {
namespace {

// Linear interpolation reads the voxels before and behind an index, and rounding may shift it by one more.
constexpr double before = 1, behind = 2;
constexpr std::size_t minSlices = 3; // at the border the cells of the last voxels are read together
// Bound of the rounding error of a mapped point, relative to the largest coordinate on its way: several
// operations with errors of 2^-53 each.
constexpr double roundings = 0x1p-49;
constexpr double maxRoundingShift = 0.5; // voxels

template <int D>
double farthestMm(const ImageGeometry<D>& lattice)
{
  return largestCoordinate<D>(lattice.pointFromIndex(), lattice.size);
}

/// A bound of all coordinates, intermediate ones too, when points within `reachMm` of the origin go through
/// the chain.
template <int D>
double farthestMm(const TransformChain<D>& chain, double reachMm, double longestShiftMm)
{
  const double initial = chain.initial ? farthestMm<D>(*chain.initial, reachMm, longestShiftMm) : reachMm;
  const LinearForm<D>* linear = chain.transform->linear();
  if (!linear)
    return initial + longestShiftMm;
  Vec<D> reach;
  reach.fill(initial);
  return initial + largestCoordinate<D>(linear->pointMap(chain.parameters), reach);
}

}

template <int D>
InputSlices<D>::InputSlices(const TransformChain<D>& chain, const ImageGeometry<D>& moving,
                            const ImageGeometry<D>& output)
    : slices_(moving.size[D - 1])
{
  const std::optional<OneSplineChain<D>> whole = asOneSpline<D>(chain);
  if (!whole)
    return;
  const AffineMap<D> toIndex = moving.indexFromPoint(),
                     index = compose(toIndex, compose(whole->linear, output.pointFromIndex()));
  double longestMm = 0;
  if (whole->spline)
    for (const double value : whole->spline->parameters)
      longestMm = std::max(longestMm, value == value ? std::abs(value) : HUGE_VAL);
  const Matrix<D> fromDisplacement = multiply<D>(toIndex.matrix, whole->turn);
  double shift = 0, voxelsPerMm = 0;
  low_ = high_ = index.offset[D - 1];
  for (int e = 0; e < D; ++e) {
    shift += longestMm > 0 ? longestMm * std::abs(fromDisplacement[D - 1][e]) : 0;
    voxelsPerMm += std::abs(toIndex.matrix[D - 1][e]);
    if (e == D - 1)
      continue;
    const double across = index.matrix[D - 1][e] * static_cast<double>(output.size[e] - 1);
    low_ += std::min(across, 0.0);
    high_ += std::max(across, 0.0);
  }
  low_ -= shift;
  high_ += shift;
  step_ = index.matrix[D - 1][D - 1];
  const double rounded =
      roundings * voxelsPerMm * (farthestMm<D>(chain, farthestMm(output), longestMm) + farthestMm(moving));
  known_ = std::isfinite(low_) && std::isfinite(high_) && std::isfinite(step_) && rounded < maxRoundingShift;
}

template <int D>
SliceRange InputSlices<D>::between(double low, double high) const
{
  const auto last = static_cast<double>(slices_) - 1,
             least = static_cast<double>(std::min(minSlices, slices_)) - 1;
  const double first = std::clamp(std::floor(low) - before, 0.0, last - least),
               end = std::clamp(std::floor(high) + behind, least, last);
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(end - first) + 1};
}

template <int D>
std::size_t InputSlices<D>::maxAskedBy(std::size_t count) const
{
  const double wide = high_ - low_ + std::abs(step_) * static_cast<double>(count - 1) + before + behind
                      + 2; // rounding down and up
  return static_cast<std::size_t>(std::clamp(
      std::ceil(wide), static_cast<double>(std::min(minSlices, slices_)), static_cast<double>(slices_)));
}

TESSERA_INSTANTIATE_CLASS_TO_4(InputSlices);

}
