#include "Core/Runs/Resampling/ResultOutside.h"

#include "Core/Registration/Fields/FieldOfLattice.h"
#include "Core/Registration/Samples/VoxelBatches.h"
#include "Core/Registration/Stage/Motion.h"
#include "Core/Runs/Transforming/FromTime.h"

#include <algorithm>
#include <span>

namespace tessera {
namespace {

constexpr std::size_t wantedVoxels = 10'000;
constexpr double nearlyAll = 0.95;

/// "-10.0 to 20.5, 3.0 to 4.0 mm" along the axes of space; points that are not a number are left out.
template <int D>
std::string boxText(std::span<const Vec<D>> pointsMm)
{
  std::string text;
  for (int d = 0; d < D; ++d) {
    const auto [least, largest] =
        std::ranges::minmax(pointsMm, [d](const Vec<D>& a, const Vec<D>& b) { return a[d] < b[d]; });
    text += (d ? ", " : "") + decimals(least[d], 1) + " to " + decimals(largest[d], 1);
  }
  return text + " mm";
}

}

template <int D>
std::vector<Vec<D>> mappedVoxels(const Context& cpu, const TransformChain<D>& chain,
                                 const ImageGeometry<D>& grid)
{
  const auto image = std::make_shared<Image<D>>(Image<D>{grid, {}});
  Size<D> step = gridOfAbout<D>(wantedVoxels, image, nullptr).step;
  if (D == 4 || (D == 3 && keepsTimes<D>(chain, grid)))
    step.back() = 1;
  const ImageGeometry<D> lattice = geometryOf<D>(gridOfStep<D>(step, image, wholeBox<D>(grid), nullptr));
  std::vector<Vec<D>> mappedMm(lattice.voxelCount());
  forEachVoxelBatch<D>(cpu, lattice, [&](std::size_t first, PointBatch<D>& points) {
    Context host{Device{}, 1};
    mapChain<D>(host, chain, points.list(), points.out());
    for (std::size_t i = 0; i < points.count; ++i)
      mappedMm[first + i] = points.list().point(i);
  });
  return mappedMm;
}

template <int D>
ResultOutside resultOutside(const std::vector<Vec<D>>& mappedMm, const ImageGeometry<D>& image)
{
  const PointToIndex<D> pointToIndex = image.pointToIndex();
  const auto outside = std::ranges::count_if(
      mappedMm, [&](const Vec<D>& pointMm) { return !isInside<D>(image, pointToIndex, pointMm); });
  ResultOutside result{
      static_cast<double>(outside) / static_cast<double>(std::max<std::size_t>(1, mappedMm.size())), ""};
  if (result.share >= nearlyAll)
    result.warning = result.text() + " The grid is mapped to " + boxText<D>(mappedMm)
                     + ", that image lies at " + boxText<D>(image.cornersMm()) + ".";
  return result;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(mappedVoxels<D>, resultOutside<D>);

}
