#include "Components/FieldInterpolators/Shared/TileKernels.cuh"
#include "Components/FieldInterpolators/ThreadPerVoxelTiled.h"
#include "Core/Compute/Math/WithConstant.h"

namespace tessera {
namespace {

constexpr int threadsPerBlock = 256;
constexpr int voxelsPerBlock = 2048; // at most, if a block has several tiles
// Bytes of a block's control points; at most, if a block has several tiles.
constexpr std::size_t rowBytes = 32 * 1024;

/// n / divisor for small numbers by one multiplication: exact while n * divisor < 2^31.
struct Divider {
  unsigned reciprocal;

  explicit Divider(unsigned divisor) : reciprocal((0x80000000u + divisor - 1) / divisor) {}
  TESSERA_HOST_DEVICE unsigned quotient(unsigned n) const
  {
    return static_cast<unsigned>((static_cast<std::uint64_t>(n) * reciprocal) >> 31);
  }
};

/// A block's work on `tilesPerBlock` tiles along x. The Order + 1 control points of a tile along x are one
/// entry of four floats, so that one load brings them all, although neighbouring tiles share three of four.
/// The rows of a tile are an odd number of entries apart, so that neighbouring tiles use different memory
/// banks.
template <int D, int Order>
struct TileBundle {
  static constexpr int points = Order + 1, slices = D == 3 ? points : 1;
  static constexpr int rows = D * slices * points, rowPitch = rows | 1;

  TiledField field;
  int tilesPerBlock, bundlesAlongX;
  unsigned voxelsPerTile,
      threadsPerTile; // threadsPerTile is even: two threads that load the same entry are served together
  Divider byTile, bySlice, byRow;

  explicit TileBundle(const TiledField& tiled)
      : field(tiled), voxelsPerTile(tiled.axes[0].tile * tiled.axes[1].tile * tiled.axes[2].tile),
        threadsPerTile((voxelsPerTile + 1) / 2 * 2), byTile(threadsPerTile),
        bySlice(tiled.axes[0].tile * tiled.axes[1].tile), byRow(tiled.axes[0].tile)
  {
    const auto busyShare = [&](unsigned tiles) {
      const unsigned items = tiles * threadsPerTile;
      return static_cast<double>(items) / (ceilDiv<unsigned>(items, threadsPerBlock) * threadsPerBlock);
    };
    const unsigned most = std::min<unsigned>({std::max(1u, voxelsPerBlock / threadsPerTile),
                                              rowBytes / (rowPitch * sizeof(float4)),
                                              static_cast<unsigned>(tiled.axes[0].tiles)});
    unsigned best = 1;
    for (unsigned tiles = 2; tiles <= most; ++tiles)
      if (busyShare(tiles) >= busyShare(best))
        best = tiles;
    tilesPerBlock = static_cast<int>(best);
    bundlesAlongX = ceilDiv(tiled.axes[0].tiles, tilesPerBlock);
  }

  struct Place {
    int tileX, tileY, tileZ;
  };
  TESSERA_HOST_DEVICE Place placeOf(unsigned blockX, unsigned blockY) const
  {
    return {static_cast<int>(blockX % bundlesAlongX) * tilesPerBlock,
            static_cast<int>(blockX / bundlesAlongX), static_cast<int>(blockY)};
  }

  /// Loads row `item` = (tile, component, slice, row) of control points.
  TESSERA_HOST_DEVICE void loadRow(const Place& place, int item, float4* shared) const
  {
    const int tile = item / rows, row = item % rows;
    const int c = row / (slices * points), k = row / points % slices, j = row % points;
    const int first = field.axes[0].firstPoint + place.tileX + tile;
    const std::size_t y = field.nearestPoint(1, field.axes[1].firstPoint + place.tileY + j);
    const std::size_t z = field.nearestPoint(2, field.axes[2].firstPoint + place.tileZ + k);
    const float* line =
        field.grid.coefficients
        + (c * field.grid.perComponent + (z * field.grid.points[1] + y) * field.grid.points[0]);
    float values[4] = {};
    TESSERA_UNROLL
    for (int i = 0; i < points; ++i)
      values[i] = loadConstant(line + field.nearestPoint(0, first + i));
    shared[tile * rowPitch + row] = make_float4(values[0], values[1], values[2], values[3]);
  }

  /// The position of item `item` = (tile, voxel of the tile).
  struct Item {
    int tile, r[3], index[3];
    bool exists;
  };
  TESSERA_HOST_DEVICE Item itemOf(const Place& place, unsigned item) const
  {
    const unsigned tile = byTile.quotient(item), inTile = item - tile * threadsPerTile;
    const unsigned z = bySlice.quotient(inTile),
                   inSlice = inTile - z * (field.axes[0].tile * field.axes[1].tile);
    const unsigned y = byRow.quotient(inSlice), x = inSlice - y * field.axes[0].tile;
    const int tiles[3] = {place.tileX + static_cast<int>(tile), place.tileY, place.tileZ};
    Item at{static_cast<int>(tile),
            {static_cast<int>(x), static_cast<int>(y), static_cast<int>(z)},
            {},
            inTile < voxelsPerTile};
    for (int d = 0; d < 3; ++d) {
      at.index[d] = tiles[d] * field.axes[d].tile - field.axes[d].before + at.r[d];
      at.exists = at.exists && field.contains(d, at.index[d]);
    }
    return at;
  }
  TESSERA_HOST_DEVICE bool wants(const Place& place, unsigned item) const
  {
    const Item at = itemOf(place, item);
    return at.exists && field.store.wants(field.voxel(at.index[0], at.index[1], at.index[2]));
  }

  TESSERA_HOST_DEVICE void evaluate(const Place& place, unsigned item, const float4* shared,
                                    const float4 (&entries)[3][largestTileOnCuda]) const
  {
    const Item at = itemOf(place, item);
    const std::size_t voxel = field.voxel(at.index[0], at.index[1], at.index[2]);
    if (!at.exists || !field.store.wants(voxel))
      return;
    float u[D] = {}, weights[D][4];
    bool inside = true;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      inside = inside && field.inside(d, at.index[d]);
      const float4 entry = entries[d][at.r[d]];
      weights[d][0] = entry.x, weights[d][1] = entry.y, weights[d][2] = entry.z, weights[d][3] = entry.w;
    }
    if (inside) {
      TESSERA_UNROLL
      for (int c = 0; c < D; ++c)
        u[c] = sum(shared + (at.tile * rowPitch + c * slices * points), weights);
    }
    field.store.all(voxel, u);
  }

private:
  TESSERA_HOST_DEVICE static float sum(const float4* shared, const float (&weights)[D][4])
  {
    float inSlice[slices];
    TESSERA_UNROLL
    for (int k = 0; k < slices; ++k) {
      float inRow[points];
      TESSERA_UNROLL
      for (int j = 0; j < points; ++j) {
        const float4 row = shared[k * points + j];
        const float values[4] = {row.x, row.y, row.z, row.w};
        float along[points];
        TESSERA_UNROLL
        for (int i = 0; i < points; ++i)
          along[i] = values[i];
        inRow[j] = weightedSum(weights[0], along);
      }
      inSlice[k] = weightedSum(weights[1], inRow);
    }
    return D == 3 ? weightedSum(weights[D - 1], inSlice) : inSlice[0];
  }
};

/// Eq. 1 of Zachariadis et al. 2020 for the voxels of some tiles. For each tile a block loads 4 * D * (Order
/// + 1)^D bytes of control points into shared memory, and it stores 4 * D bytes a voxel. A cubic in 3D takes
/// 252 operations and 48 loads of 16 bytes from shared memory a voxel. These loads are the limit: two threads
/// that load the same entry take a cycle for two registers.
template <int D, int Order>
__global__ void __launch_bounds__(threadsPerBlock, 3)
    tileBundleKernel(const __grid_constant__ TileBundle<D, Order> bundle)
{
  extern __shared__ float4 rows[];
  __shared__ float4 entries[3][largestTileOnCuda];
  const auto place = bundle.placeOf(blockIdx.x, blockIdx.y);
  const unsigned itemCount = bundle.tilesPerBlock * bundle.threadsPerTile;

  if (bundle.field.store.mask != nullptr) {
    bool wanted = false;
    for (unsigned item = threadIdx.x; item < itemCount; item += threadsPerBlock)
      wanted = wanted || bundle.wants(place, item);
    if (!__syncthreads_or(wanted))
      return;
  }
  copyEntries(bundle.field, entries);
  for (int item = threadIdx.x; item < bundle.tilesPerBlock * bundle.rows; item += threadsPerBlock)
    bundle.loadRow(place, item, rows);
  __syncthreads();
  for (unsigned item = threadIdx.x; item < itemCount; item += threadsPerBlock)
    bundle.evaluate(place, item, rows, entries);
}

template <int Order, int D>
void launchTiled(Context& context, const AlignedField<D>& field, const FieldCoefficients& coefficients,
                 const FieldTarget& target)
{
  const TileBundle<D, Order> bundle(tiledFieldOf<SplineWeights<Order>>(field, coefficients, target));
  const dim3 blocks(bundle.bundlesAlongX * bundle.field.axes[1].tiles, bundle.field.axes[2].tiles);
  const std::size_t sharedBytes = bundle.tilesPerBlock * bundle.rowPitch * sizeof(float4);
  tellLaunch(tileBundleKernel<D, Order>, blocks, threadsPerBlock, sharedBytes);
  tileBundleKernel<<<blocks, threadsPerBlock, sharedBytes, cudaStreamOf(context)>>>(bundle);
  checkLaunch("ThreadPerVoxelTiled");
}

}

template <int D>
void ThreadPerVoxelTiled<D>::displacements(Context& context, const AlignedField<D>& field,
                                           const FieldCoefficients& coefficients,
                                           const FieldTarget& target) const
{
  withConstant<1, 3>(field.order,
                     [&]<int Order>() { launchTiled<Order>(context, field, coefficients, target); });
}

TESSERA_INSTANTIATE_CLASS(ThreadPerVoxelTiled);

}
