#include "Core/Registration/Inverse/ForwardCells.h"

#include "Core/Registration/Samples/VoxelBatches.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr std::size_t fewestCells = 16;     // along an axis of some length
constexpr double marginBeyondLargest = 1.5; // T may differ from its linear part by more beyond the region

/// The place of item `number` among items that are counted along the first axis first.
template <int D>
Size<D> placeOf(std::size_t number, const Size<D>& counts)
{
  Size<D> place;
  for (int d = 0; d < D; ++d) {
    place[d] = number % counts[d];
    number /= counts[d];
  }
  return place;
}

/// T at the points of a lattice that the inverse of the linear part has moved to the fixed space.
template <int D>
std::vector<Vec<D>> imagesOf(Context& context, const TransformChain<D>& chain,
                             const AffineMap<D>& linearInverse, const ImageGeometry<D>& lattice)
{
  std::vector<Vec<D>> imagesMm(lattice.voxelCount());
  forEachVoxelBatch<D>(context, lattice, [&](std::size_t first, PointBatch<D>& points) {
    for (std::size_t i = 0; i < points.count; ++i)
      points.set(i, linearInverse(points.point(i)));
    mapChain<D>(context, chain, points.list(), points.out());
    for (std::size_t i = 0; i < points.count; ++i)
      imagesMm[first + i] = points.list().point(i);
  });
  return imagesMm;
}

/// The largest |T(x) - linear part of T(x)| along an axis over the points of the lattice.
template <int D>
double largestDifference(const ImageGeometry<D>& lattice, const std::vector<Vec<D>>& imagesMm)
{
  const AffineMap<D> pointFromIndex = lattice.pointFromIndex();
  double largestMm = 0;
  for (std::size_t i = 0; i < imagesMm.size(); ++i) {
    Vec<D> index;
    const Size<D> place = placeOf<D>(i, lattice.size);
    for (int d = 0; d < D; ++d)
      index[d] = static_cast<double>(place[d]);
    const Vec<D> pointMm = pointFromIndex(index);
    for (int d = 0; d < D; ++d)
      if (const double differenceMm = std::abs(imagesMm[i][d] - pointMm[d]); std::isfinite(differenceMm))
        largestMm = std::max(largestMm, differenceMm);
  }
  return largestMm;
}

}

/// The box of the region, longer at each end, with cells of about equal edges: no shorter than two voxels of
/// the region, as short as maxPoints allow.
template <int D>
ImageGeometry<D> ForwardCells<D>::latticeOver(const ImageGeometry<D>& region, double largestMm)
{
  const auto rounded = static_cast<float>(largestMm); // so that the CPU and CUDA have the same lattice
  const double marginMm = marginBeyondLargest * rounded;
  ImageGeometry<D> lattice = region;
  Vec<D> firstIndex;
  Vec<D> lengthMm;
  double longestMm = 0, shortestVoxelMm = std::numeric_limits<double>::infinity();
  for (int d = 0; d < D; ++d) {
    firstIndex[d] = -marginMm / region.spacingMm[d];
    lengthMm[d] = static_cast<double>(region.size[d] - 1) * region.spacingMm[d] + 2 * marginMm;
    longestMm = std::max(longestMm, lengthMm[d]);
    shortestVoxelMm = std::min(shortestVoxelMm, region.spacingMm[d]);
  }
  lattice.originMm = region.pointFromIndex()(firstIndex);
  for (double edgeMm = 2 * shortestVoxelMm;; edgeMm *= 1.25) {
    double points = 1;
    for (int d = 0; d < D; ++d) {
      const auto wanted = static_cast<std::size_t>(std::ceil(std::min(lengthMm[d] / edgeMm, 1e6)));
      lattice.size[d] = std::max(wanted, std::min(fewestCells, wanted + 1)) + 1;
      points *= static_cast<double>(lattice.size[d]);
      lattice.spacingMm[d] =
          lengthMm[d] > 0 ? lengthMm[d] / static_cast<double>(lattice.size[d] - 1) : edgeMm;
    }
    if (points <= static_cast<double>(maxPoints) || edgeMm > longestMm)
      return lattice;
  }
}

template <int D>
CellsOfImages<D> ForwardCells<D>::cellsOf(const ImageGeometry<D>& lattice, const AffineMap<D>& linearInverse)
{
  CellsOfImages<D> cells;
  for (int d = 0; d < D; ++d) {
    cells.points[d] = static_cast<int>(lattice.size[d]);
    cells.blocks[d] = (cells.points[d] + cells.edgeOfBlock - 2) / cells.edgeOfBlock;
  }
  cells.fixedFromIndex = compose(linearInverse, lattice.pointFromIndex());
  return cells;
}

template <int D>
ForwardCells<D>::ForwardCells(Context& context, const TransformChain<D>& chain,
                              const AffineMap<D>& linearInverse, const ImageGeometry<D>& region)
{
  ImageGeometry<D> lattice = latticeOver(region, 0);
  const double largestMm = largestDifference<D>(lattice, imagesOf<D>(context, chain, linearInverse, lattice));
  lattice = latticeOver(region, largestMm);
  shape_ = cellsOf(lattice, linearInverse);
  imagesMm_ = imagesOf<D>(context, chain, linearInverse, lattice);
  boxes_.assign(static_cast<std::size_t>(shape_.blockCount()), PointBox<D>::empty());
  const CellsOfImages<D> all = cells();
  forEachRange(context, boxes_.size(), 16, [&](std::size_t first, std::size_t last) {
    typename CellsOfImages<D>::Place cell;
    for (std::size_t block = first; block < last; ++block)
      for (int i = 0; i < all.cellsOfBlock; ++i)
        if (all.cellAt(static_cast<int>(block), i, cell))
          boxes_[block].add(all.boxOf(cell));
  });
}

template <int D>
std::vector<Vec<D>> ForwardCells<D>::candidatesMm(const Vec<D>& pointMm) const
{
  const CellsOfImages<D> all = cells();
  std::vector<Vec<D>> centersMm;
  typename CellsOfImages<D>::Place cell;
  for (std::size_t block = 0; block < boxes_.size(); ++block)
    if (boxes_[block].holds(pointMm))
      for (int i = 0; i < all.cellsOfBlock; ++i)
        if (all.cellAt(static_cast<int>(block), i, cell) && all.boxOf(cell).holds(pointMm))
          centersMm.push_back(all.centerMm(cell));
  return centersMm;
}

TESSERA_INSTANTIATE_CLASS_TO_4(ForwardCells);

}
