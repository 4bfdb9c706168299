#pragma once

#include "Components/Resamplers/Shared/ResamplingKernels.h"

#include <algorithm>
#include <cmath>

// The shape of the run of voxels that a warp computes, and how far apart the indices of such a run are.
namespace tessera::resampling {

constexpr double farthestOfRun = 128; // largest distance of a run's indices from its middle, voxels
constexpr int fewestBits = 2;         // smallest bitsOfVoxels of a run

/// The largest distance of the indices of a box of voxels from that of its middle, along each axis.
template <int D>
Vec<D> reachOfBox(const AffineMap<D>& map, const Vec<D>& extent)
{
  Vec<D> reach;
  reach.fill(0);
  for (int d = 0; d < D; ++d)
    for (int e = 0; e < D; ++e)
      reach[d] += 0.5 * extent[e] * std::abs(map.matrix[d][e]);
  return reach;
}

template <int D>
Vec<D> reachOfRun(const AffineMap<D>& map, const RunShape& shape)
{
  const int lanesX = 1 << shape.bitsOfLanesX, lanesY = 32 / lanesX;
  Vec<D> extent;
  extent[0] = lanesX;
  extent[1] = lanesY;
  extent[D - 1] = shape.voxelsALane() * (D == 3 ? 1 : lanesY);
  return reachOfBox<D>(map, extent);
}

template <int D>
double farthest(const Vec<D>& reach)
{
  return *std::max_element(reach.begin(), reach.end());
}

/// The number of rows of the moving image over which the lanes of a warp are spread, `lanesX` of them along x
/// and the others along y.
template <int D>
double rowsCrossed(const AffineMap<D>& map, int lanesX)
{
  double rows = 0;
  for (int d = 1; d < D; ++d)
    rows += (lanesX - 1) * std::abs(map.matrix[d][0]) + (32 / lanesX - 1) * std::abs(map.matrix[d][1]);
  return rows;
}

/// Shortens runs if too few warps would have work, or if the lattice has fewer slices than a run.
template <int D>
RunShape withEnoughWarps(RunShape shape, const Size<D>& size)
{
  constexpr double enoughWarps = 1 << 14;
  const auto voxels = static_cast<double>(productOf(size));
  const auto slices = static_cast<double>(size[D - 1]);
  while (shape.bitsOfVoxels > fewestBits
         && (voxels < enoughWarps * 32 * shape.voxelsALane() || slices <= shape.voxelsALane() / 2))
    --shape.bitsOfVoxels;
  return shape;
}

/// The lanes of a warp lie along x, unless they would cross many rows of the moving image: then 2 rows of 16,
/// or 4 of 8. (In an image whose rows are a multiple of 32 voxels, the cache reads columns from the same
/// banks.) Runs are shorter where indices would need too many bits.
template <int D>
RunShape shapeForLinear(const AffineMap<D>& map, const Size<D>& size, int order)
{
  constexpr double someRows = 8, manyRows = 26; // rotations by 10, and by 30 degrees about each axis
  constexpr RunShape patches{3, 3};
  const double rows = rowsCrossed<D>(map, 32);
  const RunShape lines{rows > someRows ? 4 : 5, order < 2 ? 5 : 4};
  RunShape shape =
      withEnoughWarps<D>(rows > manyRows && rows > rowsCrossed<D>(map, 8) ? patches : lines, size);
  while (shape.bitsOfVoxels > fewestBits && farthest<D>(reachOfRun<D>(map, shape)) > farthestOfRun)
    --shape.bitsOfVoxels;
  return shape;
}

/// reachOfBox of a block whose lanes lie along x, with some slack.
template <int D>
Vec<D> reachOfBlock(const AffineMap<D>& map, const RunShape& shape)
{
  Vec<D> extent;
  extent.fill(shape.warps);
  extent[0] = 32;
  extent[D - 1] = shape.voxelsALane() * (D == 3 ? 1 : shape.warps);
  Vec<D> reach = reachOfBox<D>(map, extent);
  for (double& voxels : reach)
    voxels += 1.0 / 256;
  return reach;
}

/// Bytes of shared memory for the control points that a block's voxels may need, each with its neighbours
/// along x.
template <int D>
double bytesOfBlock(const Vec<D>& reach)
{
  double bytes = 16 * D;
  for (int d = 0; d < D; ++d)
    bytes *= std::floor(2 * reach[d]) + 2 + (d == 0 ? 0 : 3);
  return bytes;
}

}
