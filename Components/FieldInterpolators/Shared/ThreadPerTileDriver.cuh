#pragma once

#include "Components/FieldInterpolators/Shared/TileKernels.cuh"

// One thread computes one component of a tile of voxels (Zachariadis et al., "Accelerating B-spline
// interpolation on GPUs", 2020, sections 3.1 to 3.3):
//
//   load the 4 x 4 x 4 control points of the tile into registers
//   repeat for tilesPerThread tiles along z:
//     for each slice z of the tile: setSlice
//       for each row y: setRow
//         for each voxel x: u = at(x)                       eq. 1, in the form of the Method
//         store the row together with the warp's other lanes
//     shift the control points by one slice and load the next one
//
// A Method holds the control points of a tile and has these members:
//
//   float points[D == 3 ? 4 : 1][4][4];                     loaded before anything else
//   void setSlice(float4 z); void setRow(float4 y);         entries of the slice, then of the row
//   float at(float4 x) const;                               the value of a voxel of the row
//   static constexpr int blocksPerMultiprocessor;
namespace tessera {

constexpr int warpsPerTileBlock = 4;
/// Shared memory of a lane for rows that are gathered together, unless one row is longer.
constexpr int floatsPerLane = 64;
constexpr int maxTilesPerThread = 8,
              enoughWarps = 16384; // fewer tiles a thread where there would be fewer warps

/// A warp computes lanesAlongX x (32 / lanesAlongX) neighbouring tiles. The voxels of a row of tiles are a
/// segment of lanesAlongX * tile contiguous values. The warp gathers a segment in a row of shared memory,
/// where each lane has `rowPitch` values.
struct TileLaunch {
  TiledField field;
  int lanesShift = 5; // lanesAlongX = 1 << lanesShift
  int warpsAlongX = 1, blocksAlongY = 1;
  int tilesPerThread = 1; // tiles of a thread along z
  int rowPitch;           // odd, so that lanes use different memory banks
  int rowsAtOnce;         // rows that are gathered before they are stored
  unsigned gapReciprocal; // 2^32 / tile if rowPitch leaves a gap after each tile, else 0

  TileLaunch(const TiledField& tiled, int components) : field(tiled)
  {
    double least = costOf(5);
    for (int shift = 4; shift >= 0; --shift)
      if (const double cost = costOf(shift); cost < least) {
        least = cost;
        lanesShift = shift;
      }
    const unsigned tile = tiled.axes[0].tile;
    warpsAlongX = ceilDiv(tiled.axes[0].tiles, 1 << lanesShift);
    blocksAlongY = ceilDiv(ceilDiv(tiled.axes[1].tiles, 32 >> lanesShift), warpsPerTileBlock);
    const std::size_t warps = static_cast<std::size_t>(warpsAlongX) * blocksAlongY * warpsPerTileBlock
                              * tiled.axes[2].tiles * components;
    tilesPerThread = std::clamp(static_cast<int>(warps / enoughWarps), 1, maxTilesPerThread);
    rowPitch = static_cast<int>(tile | 1);
    rowsAtOnce = std::clamp(floatsPerLane / rowPitch, 1, tiled.axes[1].tile);
    gapReciprocal = tile % 2 == 1 ? 0 : static_cast<unsigned>(((std::uint64_t{1} << 32) + tile - 1) / tile);
  }

private:
  /// The cost of a layout: lanes, busy or not, times the 32-byte sectors that a segment touches for each that
  /// it fills.
  double costOf(int shift) const
  {
    const int along = 1 << shift, across = 32 >> shift;
    const double filled = static_cast<double>(along) * field.axes[0].tile / 8;
    return static_cast<double>(ceilDiv(field.axes[0].tiles, along) * along)
           * (ceilDiv(field.axes[1].tiles, across) * across) * (filled + 1) / filled;
  }
};

/// Finds the positions 0 .. count - 1 that lie in the lattice, and those of them in the valid region.
struct TilePart {
  int first, end, insideFirst, insideEnd;

  /// Positions begin at `voxel` and are 1 << shift voxels apart.
  TESSERA_HOST_DEVICE TilePart(const TileAxis& axis, int voxel, int count, int shift)
      : first(before(0, voxel, count, shift)), end(before(axis.voxels, voxel, count, shift)),
        insideFirst(before(axis.insideFirst, voxel, count, shift)),
        insideEnd(before(axis.insideEnd, voxel, count, shift))
  {
  }
  TESSERA_HOST_DEVICE bool has(int position) const { return position >= first && position < end; }
  TESSERA_HOST_DEVICE bool hasInside(int position) const
  {
    return position >= insideFirst && position < insideEnd;
  }

private:
  TESSERA_HOST_DEVICE static int before(int bound, int voxel, int count, int shift)
  {
    const int positions = (bound - voxel + (1 << shift) - 1) >> shift;
    return positions < 0 ? 0 : positions < count ? positions : count;
  }
};

/// `TileX` is the number of a tile's voxels along x if the compiler knows it, else 0.
template <int D, class Method, int TileX = 0>
class TileThread {
public:
  static constexpr int slices = D == 3 ? 4 : 1;

  TESSERA_HOST_DEVICE TileThread(const TileLaunch& launch, int component, int warpX, int warpY, int tileZ,
                                 int lane)
      : launch_(launch), component_(component), lane_(lane), laneX_(lane & ((1 << launch.lanesShift) - 1)),
        tileX_((warpX << launch.lanesShift) + laneX_),
        tileY_(warpY * (32 >> launch.lanesShift) + (lane >> launch.lanesShift)), tileZ_(tileZ),
        firstX_((tileX_ - laneX_) * axis(0).tile - axis(0).before + laneX_),
        stepsX_(axis(0), firstX_, axis(0).tile, launch.lanesShift),
        rowsY_(axis(1), tileY_ * axis(1).tile - axis(1).before, axis(1).tile, 0),
        slicesZ_(axis(2), tileZ_ * axis(2).tile - axis(2).before, axis(2).tile, 0)
  {
  }

  TESSERA_HOST_DEVICE void loadPoints()
  {
    TESSERA_UNROLL
    for (int k = 0; k < slices; ++k)
      loadSlice(k);
  }

  /// Goes on to the next tile along z.
  TESSERA_HOST_DEVICE void advance()
  {
    ++tileZ_;
    slicesZ_ = TilePart(axis(2), tileZ_ * axis(2).tile - axis(2).before, axis(2).tile, 0);
    TESSERA_UNROLL
    for (int k = 0; k + 1 < slices; ++k) {
      TESSERA_UNROLL
      for (int j = 0; j < 4; ++j) {
        TESSERA_UNROLL
        for (int i = 0; i < 4; ++i)
          method_.points[k][j][i] = method_.points[k + 1][j][i];
      }
    }
    loadSlice(slices - 1);
  }

  TESSERA_HOST_DEVICE void startSlice(int z, float4 entry)
  {
    const TiledField& field = launch_.field;
    sliceInside_ = slicesZ_.hasInside(z);
    sliceVoxel_ = static_cast<std::ptrdiff_t>(field.voxel(0, tileY_ * axis(1).tile - axis(1).before,
                                                          tileZ_ * axis(2).tile - axis(2).before + z))
                  + firstX_;
    sliceValues_ = field.store.values
                   + (sliceVoxel_ * static_cast<std::ptrdiff_t>(field.store.perVoxel)
                      + component_ * static_cast<std::ptrdiff_t>(field.store.perComponent));
    method_.setSlice(entry);
  }

  /// Whether the lane's segment of row y has a voxel of the mask.
  TESSERA_HOST_DEVICE bool wantsRow(int y) const
  {
    bool wanted = false;
    const std::uint8_t* mask =
        launch_.field.store.mask + sliceVoxel_ + static_cast<std::ptrdiff_t>(axis(0).voxels) * y;
    if (rowsY_.has(y))
      for (int step = stepsX_.first; step < stepsX_.end; ++step)
        wanted = wanted || mask[step << launch_.lanesShift] != 0;
    return wanted;
  }

  /// Computes rows first .. first + rowsAtOnce - 1 of the thread's tile into the warp's rows in shared
  /// memory, if their bit in `wanted` is set.
  TESSERA_HOST_DEVICE void computeRows(int first, unsigned wanted, const float4* entriesY,
                                       const float4* entriesX, float* rows)
  {
    if (!sliceInside_)
      return;
    const int end = least(first + launch_.rowsAtOnce, rowsY_.insideEnd);
    for (int y = most(first, rowsY_.insideFirst); y < end; ++y) {
      if ((wanted >> (y - first) & 1) == 0)
        continue;
      method_.setRow(entriesY[y]);
      float* to = rows + ((y - first) * 32 + lane_) * rowPitch();
      if constexpr (TileX > 0) {
        TESSERA_UNROLL
        for (int x = 0; x < TileX; ++x)
          to[x] = method_.at(entriesX[x]);
      } else {
        for (int x = 0; x < tileX(); ++x)
          to[x] = method_.at(entriesX[x]);
      }
    }
  }

  /// Stores the warp's rows in their segments: neighbouring lanes store neighbouring values.
  TESSERA_HOST_DEVICE void storeRows(int first, unsigned wanted, const float* rows) const
  {
    const int perVoxel = static_cast<int>(launch_.field.store.perVoxel),
              pitch = perVoxel << launch_.lanesShift;
    const int from = (lane_ - laneX_) * tileX() + laneX_, end = least(first + launch_.rowsAtOnce, rowsY_.end);
    const bool whole = sliceInside_ && stepsX_.insideEnd - stepsX_.insideFirst == tileX();
    for (int y = most(first, rowsY_.first); y < end; ++y) {
      if ((wanted >> (y - first) & 1) == 0)
        continue;
      const bool inside = sliceInside_ && rowsY_.hasInside(y);
      const float* row = rows + (y - first) * 32 * rowPitch();
      float* to = sliceValues_ + y * perVoxel * axis(0).voxels;
      if (inside && whole) {
        TESSERA_UNROLL
        for (int step = 0; step < tileX(); ++step)
          storeOnce(to + step * pitch, row[inRow(from + (step << launch_.lanesShift))]);
      } else {
        for (int step = stepsX_.first; step < stepsX_.end; ++step)
          storeOnce(to + step * pitch, inside && stepsX_.hasInside(step)
                                           ? row[inRow(from + (step << launch_.lanesShift))]
                                           : 0.0f);
      }
    }
  }

  /// Computes all of the tile, together with the warp's other lanes.
  __device__ void computeTile(const float4 (&entries)[3][largestTileOnCuda], float* rows)
  {
    for (int z = slicesZ_.first; z < slicesZ_.end; ++z) {
      startSlice(z, entries[2][z]);
      for (int first = 0; first < launch_.field.axes[1].tile; first += launch_.rowsAtOnce) {
        unsigned wanted = ~0u;
        if (launch_.field.store.mask != nullptr) {
          wanted = 0;
          for (int row = 0; row < launch_.rowsAtOnce; ++row)
            wanted |= __any_sync(0xffffffffu, wantsRow(first + row)) ? 1u << row : 0u;
        }
        computeRows(first, wanted, entries[1], entries[0], rows);
        __syncwarp();
        storeRows(first, wanted, rows);
        __syncwarp();
      }
    }
  }

private:
  /// Loads slice k of the tile's control points.
  TESSERA_HOST_DEVICE void loadSlice(int k)
  {
    const TiledField& field = launch_.field;
    const int width = field.grid.points[0];
    const float* slice = field.grid.coefficients + component_ * field.grid.perComponent
                         + field.nearestPoint(2, axis(2).firstPoint + tileZ_ + k)
                               * (static_cast<std::size_t>(width) * field.grid.points[1]);
    TESSERA_UNROLL
    for (int j = 0; j < 4; ++j) {
      const float* row = slice + field.nearestPoint(1, axis(1).firstPoint + tileY_ + j) * width;
      TESSERA_UNROLL
      for (int i = 0; i < 4; ++i)
        method_.points[k][j][i] = loadConstant(row + field.nearestPoint(0, axis(0).firstPoint + tileX_ + i));
    }
  }
  TESSERA_HOST_DEVICE const TileAxis& axis(int d) const { return launch_.field.axes[d]; }
  TESSERA_HOST_DEVICE int tileX() const { return TileX > 0 ? TileX : axis(0).tile; }
  TESSERA_HOST_DEVICE int rowPitch() const { return TileX > 0 ? TileX | 1 : launch_.rowPitch; }
  /// The place of value i of a row in shared memory; i does not count the gaps that an odd pitch leaves.
  TESSERA_HOST_DEVICE int inRow(int i) const
  {
    if (TileX > 0)
      return TileX % 2 == 1 ? i : i + static_cast<int>(static_cast<unsigned>(i) / (TileX > 0 ? TileX : 1));
    return i
           + static_cast<int>((static_cast<std::uint64_t>(static_cast<unsigned>(i)) * launch_.gapReciprocal)
                              >> 32);
  }
  TESSERA_HOST_DEVICE static int least(int a, int b) { return a < b ? a : b; }
  TESSERA_HOST_DEVICE static int most(int a, int b) { return a < b ? b : a; }

  const TileLaunch& launch_;
  int component_, lane_, laneX_, tileX_, tileY_, tileZ_;
  int firstX_; // the voxel that the lane stores first; its next ones are lanesAlongX apart
  TilePart stepsX_, rowsY_, slicesZ_;
  bool sliceInside_ = false;
  std::ptrdiff_t sliceVoxel_ = 0; // voxel firstX_ of row 0 of the tile; it may lie before the lattice
  float* sliceValues_ = nullptr;  // the value of that voxel
  Method method_;
};

/// A thread loads 4 * 4^D bytes of control points a component for its first tile, and a quarter of that for
/// each next one. It stores 4 bytes a voxel and component, which the warp gathers in shared memory so that
/// stores are contiguous.
template <int D, class Method, int TileX>
__global__ void __launch_bounds__(32 * warpsPerTileBlock, Method::blocksPerMultiprocessor)
    tileKernel(const __grid_constant__ TileLaunch launch)
{
  extern __shared__ float rows[];
  __shared__ float4 entries[3][largestTileOnCuda];
  copyEntries(launch.field, entries);
  __syncthreads();

  const int warp = threadIdx.x / 32, warpX = static_cast<int>(blockIdx.x) % launch.warpsAlongX,
            warpY = static_cast<int>(blockIdx.x) / launch.warpsAlongX * warpsPerTileBlock + warp,
            firstTile = static_cast<int>(blockIdx.z) * launch.tilesPerThread,
            tiles = min(launch.tilesPerThread, launch.field.axes[2].tiles - firstTile);
  TileThread<D, Method, TileX> thread(launch, blockIdx.y, warpX, warpY, firstTile, threadIdx.x % 32);
  if (warpY * (32 >> launch.lanesShift) >= launch.field.axes[1].tiles)
    return;
  float* warpRows = rows + warp * launch.rowsAtOnce * 32 * launch.rowPitch;
  thread.loadPoints();
  for (int tile = 0; tile < tiles; ++tile) {
    if (tile > 0)
      thread.advance();
    thread.computeTile(entries, warpRows);
  }
}

using TileKernel = void (*)(const TileLaunch);

/// Chooses the kernel; loops along x are unrolled for usual tiles.
template <int D, class Method>
TileKernel tileKernelFor(int tileX)
{
  if constexpr (D == 3) {
    switch (tileX) {
    case 3:
      return tileKernel<D, Method, 3>;
    case 4:
      return tileKernel<D, Method, 4>;
    case 5:
      return tileKernel<D, Method, 5>;
    case 6:
      return tileKernel<D, Method, 6>;
    case 7:
      return tileKernel<D, Method, 7>;
    }
  }
  return tileKernel<D, Method, 0>;
}

template <int D, class Method>
void launchThreadPerTile(const Context& context, const TiledField& tiled, const char* name)
{
  const TileLaunch launch(tiled, D);
  const dim3 blocks(launch.warpsAlongX * launch.blocksAlongY, D,
                    ceilDiv(launch.field.axes[2].tiles, launch.tilesPerThread));
  const std::size_t rowBytes = warpsPerTileBlock * launch.rowsAtOnce * 32 * launch.rowPitch * sizeof(float);
  const TileKernel kernel = tileKernelFor<D, Method>(launch.field.axes[0].tile);
  tellLaunch(kernel, blocks, 32 * warpsPerTileBlock, rowBytes);
  kernel<<<blocks, 32 * warpsPerTileBlock, rowBytes, cudaStreamOf(context)>>>(launch);
  checkLaunch(name);
}

}
