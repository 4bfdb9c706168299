#include "Core/Runs/TransformOutput/InverseRun.h"

#include "Core/Compute/Math/Bounds.h"
#include "Core/Registration/Chain/EachTimeTransform.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr double toleranceInVoxels = 1e-3;
constexpr double toleranceForPointsMm = 1e-9;
constexpr double stepsAcrossPoints = 128; // of the grid around the points, along its longest side

/// A grid along the axes that holds all points.
template <int D>
ImageGeometry<D> gridAround(std::span<const Vec<D>> pointsMm)
{
  Bounds<D> bounds;
  for (const Vec<D>& pointMm : pointsMm)
    bounds.add(pointMm);
  const Vec<D> low = pointsMm.empty() ? Vec<D>{} : bounds.low, high = pointsMm.empty() ? low : bounds.high;
  double longestMm = 0;
  for (int d = 0; d < D; ++d)
    longestMm = std::max(longestMm, high[d] - low[d]);
  ImageGeometry<D> grid;
  grid.originMm = low;
  grid.spacingMm.fill(longestMm > 0 ? longestMm / stepsAcrossPoints : 1);
  for (int d = 0; d < D; ++d)
    grid.size[d] = static_cast<std::size_t>(std::ceil((high[d] - low[d]) / grid.spacingMm[d])) + 1;
  return grid;
}

/// The inverses that are searched, of which a chain may have several.
template <int D>
std::vector<const InverseTransform<D>*> searchedIn(const TransformChain<D>& chain)
{
  std::vector<const InverseTransform<D>*> searched;
  for (const TransformChain<D>* part = &chain; part; part = part->initial.get())
    if (const auto* inverse = dynamic_cast<const InverseTransform<D>*>(part->transform.get()))
      searched.push_back(inverse);
    else if (const auto* fromTime = dynamic_cast<const FromTimeTransform<D>*>(part->transform.get()))
      return searchedIn<D>(fromTime->inverse());
  return searched;
}

std::string share(std::size_t part, std::size_t all)
{
  return std::to_string(part) + " ("
         + decimals(all > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(all) : 0, 3) + " %)";
}

}

template <int D>
ChainPointer<D> inverseOnGrid(Context* context, ChainPointer<D> chain, const Registry& registry,
                              const ImageGeometry<D>& grid, double largestMm)
{
  auto inverse =
      inverseChain<D>(std::move(chain), registry, grid,
                      std::min(largestMm, toleranceInVoxels * *std::ranges::min_element(grid.spacingMm)));
  if (context)
    prepareSearch<D>(*context, *inverse);
  return inverse;
}

template <int D>
void prepareSearch(Context& context, const TransformChain<D>& chain)
{
  for (const InverseTransform<D>* inverse : searchedIn(chain))
    inverse->roots().cells(context);
}

template <int D>
ChainPointer<D> inverseForPoints(Context& context, ChainPointer<D> chain, const Registry& registry,
                                 std::span<const Vec<D>> pointsMm)
{
  auto inverse = inverseChain<D>(std::move(chain), registry, gridAround<D>(pointsMm), toleranceForPointsMm);
  prepareSearch<D>(context, *inverse);
  return inverse;
}

template <int D>
bool isSearched(const TransformChain<D>& chain)
{
  return !searchedIn(chain).empty();
}

namespace {

void logCounts(InverseCounts counts, std::size_t expected, const std::string& places, Log& log)
{
  const std::size_t times = std::max<std::size_t>(counts.points / std::max<std::size_t>(expected, 1), 1);
  counts.folded /= times;
  counts.outside /= times;
  counts.insideFolds /= times;
  counts.searchedAgain /= times;
  log.info("  Inverse: " + share(expected - counts.withoutRoot(), expected) + " of "
           + std::to_string(expected) + " " + places + " have a root; largest residual "
           + significant(counts.largestResidualMm, 2) + " mm; " + std::to_string(counts.folded)
           + " roots lie where the transform folds. " + std::to_string(counts.searchedAgain) + " of the "
           + places + " were searched from several starts.");
  if (counts.withoutRoot() == 0)
    return;
  const std::string text =
      "the inverse: " + share(counts.withoutRoot(), expected) + " of " + std::to_string(expected) + " "
      + places + " have no root: " + std::to_string(counts.outside)
      + " outside the region that the transform covers, " + std::to_string(counts.insideFolds)
      + " beside folds. They get the default value in images, NaN in fields and points, and in transform "
        "files a displacement that leads out of any image.";
  counts.insideFolds > 0 ? log.warning(text) : log.info("  " + text);
}

}

template <int D>
void logRoots(const TransformChain<D>& chain, std::size_t expected, const std::string& places, Log& log)
{
  for (const InverseTransform<D>* inverse : searchedIn(chain))
    if (const InverseCounts counts = inverse->takeCounts(); counts.points > 0)
      logCounts(counts, expected, places, log);
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(inverseOnGrid<D>, prepareSearch<D>, inverseForPoints<D>, isSearched<D>,
                                   logRoots<D>);

}
