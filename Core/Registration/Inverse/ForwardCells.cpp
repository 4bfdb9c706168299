#include "Core/Registration/Inverse/ForwardCells.h"

#include "Core/Registration/Samples/VoxelBatches.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr std::size_t mostPoints = std::size_t(1) << 21; // of a lattice: 50 MB, and 0.3 s of one thread
constexpr std::size_t fewestCells = 16;                  // along an axis of some length
constexpr double marginBeyondLargest = 1.5; // T may differ from its linear part by more beyond the region

std::size_t corners(int dimension)
{
  return std::size_t(1) << dimension;
}

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

/// The box of the region, longer by `marginMm` at each end, as a lattice with cells of about equal edges:
/// no shorter than two voxels of the region, as short as mostPoints allow.
template <int D>
ImageGeometry<D> latticeOver(const ImageGeometry<D>& region, double marginMm)
{
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
    if (points <= static_cast<double>(mostPoints) || edgeMm > longestMm)
      return lattice;
  }
}

/// T at the points of a lattice that the inverse of the linear part has moved to the fixed space.
template <int D>
std::vector<Vec<D>> imagesOf(Context& context, const TransformChain<D>& chain,
                             const AffineMap<D>& linearInverse, const ImageGeometry<D>& lattice)
{
  std::vector<Vec<D>> imagesMm(lattice.voxelCount());
  forEachVoxelBatch<D>(context, lattice, [&](std::size_t first, PointBatch<D>& points) {
    for (std::size_t i = 0; i < points.count; ++i) {
      const Vec<D> pointMm = linearInverse(points.list().point(i));
      for (int d = 0; d < D; ++d)
        points.mm[d][i] = pointMm[d];
    }
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

template <int D>
bool ForwardCells<D>::Box::holds(const Vec<D>& pointMm) const
{
  for (int d = 0; d < D; ++d)
    if (!(pointMm[d] >= low[d] && pointMm[d] <= high[d]))
      return false;
  return true;
}

template <int D>
void ForwardCells<D>::Box::add(const Vec<D>& pointMm)
{
  for (int d = 0; d < D; ++d) {
    low[d] = std::min(low[d], pointMm[d]);
    high[d] = std::max(high[d], pointMm[d]);
  }
}

template <int D>
typename ForwardCells<D>::Box ForwardCells<D>::Box::empty()
{
  Box box;
  box.low.fill(std::numeric_limits<double>::infinity());
  box.high.fill(-std::numeric_limits<double>::infinity());
  return box;
}

template <int D>
Size<D> ForwardCells<D>::cellCounts() const
{
  Size<D> counts = lattice_.size;
  for (std::size_t& count : counts)
    --count;
  return counts;
}

/// A curved cell may reach beyond its corners: the box is larger by a quarter of its edges.
template <int D>
typename ForwardCells<D>::Box ForwardCells<D>::boxOfCell(const Size<D>& cell) const
{
  Box box = Box::empty();
  for (std::size_t corner = 0; corner < corners(D); ++corner) {
    std::size_t point = 0, stride = 1;
    for (int d = 0; d < D; ++d) {
      point += (cell[d] + (corner >> d & 1)) * stride;
      stride *= lattice_.size[d];
    }
    box.add(imagesMm_[point]);
  }
  for (int d = 0; d < D; ++d) {
    const double marginMm = 0.25 * (box.high[d] - box.low[d]);
    box.low[d] -= marginMm;
    box.high[d] += marginMm;
  }
  return box;
}

template <int D>
template <class Visit>
void ForwardCells<D>::forEachCellOf(std::size_t block, Visit&& visit) const
{
  const Size<D> counts = cellCounts();
  Size<D> first = placeOf<D>(block, blockCounts_), within;
  std::size_t count = 1;
  for (int d = 0; d < D; ++d) {
    first[d] *= cellsOfBlock;
    within[d] = std::min(cellsOfBlock, counts[d] - first[d]);
    count *= within[d];
  }
  for (std::size_t i = 0; i < count; ++i) {
    Size<D> cell = placeOf<D>(i, within);
    for (int d = 0; d < D; ++d)
      cell[d] += first[d];
    visit(cell, boxOfCell(cell));
  }
}

template <int D>
ForwardCells<D>::ForwardCells(Context& context, const TransformChain<D>& chain,
                              const AffineMap<D>& linearInverse, const ImageGeometry<D>& region)
    : linearInverse_(linearInverse)
{
  lattice_ = latticeOver<D>(region, 0);
  const double largestMm =
      largestDifference<D>(lattice_, imagesOf<D>(context, chain, linearInverse, lattice_));
  lattice_ = latticeOver<D>(region, marginBeyondLargest * largestMm);
  imagesMm_ = imagesOf<D>(context, chain, linearInverse, lattice_);
  std::size_t count = 1;
  for (int d = 0; d < D; ++d) {
    blockCounts_[d] = (cellCounts()[d] + cellsOfBlock - 1) / cellsOfBlock;
    count *= blockCounts_[d];
  }
  blocks_.assign(count, Box::empty());
  forEachRange(context, count, 16, [&](std::size_t first, std::size_t last) {
    for (std::size_t block = first; block < last; ++block)
      forEachCellOf(block, [&](const Size<D>&, const Box& box) {
        blocks_[block].add(box.low);
        blocks_[block].add(box.high);
      });
  });
}

template <int D>
std::vector<Vec<D>> ForwardCells<D>::candidatesMm(const Vec<D>& pointMm) const
{
  const AffineMap<D> fixedFromIndex = compose(linearInverse_, lattice_.pointFromIndex());
  std::vector<Vec<D>> centersMm;
  for (std::size_t block = 0; block < blocks_.size(); ++block)
    if (blocks_[block].holds(pointMm))
      forEachCellOf(block, [&](const Size<D>& cell, const Box& box) {
        if (!box.holds(pointMm))
          return;
        Vec<D> center;
        for (int d = 0; d < D; ++d)
          center[d] = static_cast<double>(cell[d]) + 0.5;
        centersMm.push_back(fixedFromIndex(center));
      });
  return centersMm;
}

template class ForwardCells<2>;
template class ForwardCells<3>;

}
