#include "Components/FieldInterpolators/VectorPerVoxel.h"

#include "Components/FieldInterpolators/Shared/CubicTiles.h"
#include "Components/FieldInterpolators/Shared/LaneVectors.h"

#include <cstring>

namespace tessera {
namespace {

// Lane x + 2 y + 4 z belongs to the sub-cube (x, y, z) of 2 x 2 x 2 control points; in 2D lane x + 2 y
// belongs to the sub-square (x, y).

/// The fractions of a voxel along one axis: `low` in the lanes of the lower sub-cubes, `high` in those of the
/// upper ones.
template <int... LaneOfLowOrHigh>
TESSERA_ALWAYS_INLINE auto fractions(const LinearAxis& axis, int voxel)
{
  using Result = Lanes<sizeof...(LaneOfLowOrHigh)>;
  const Result low = axis.low[voxel] - Result{}, high = axis.high[voxel] - Result{};
  return __builtin_shufflevector(low, high, LaneOfLowOrHigh...);
}

TESSERA_ALWAYS_INLINE Lanes<8> fractionsX(const LinearAxis& x, int voxel)
{
  return fractions<0, 9, 2, 11, 4, 13, 6, 15>(x, voxel);
}

TESSERA_ALWAYS_INLINE Lanes<8> fractionsY(const LinearAxis& y, int voxel)
{
  return fractions<0, 1, 10, 11, 4, 5, 14, 15>(y, voxel);
}

TESSERA_ALWAYS_INLINE Lanes<8> fractionsZ(const LinearAxis& z, int voxel)
{
  return fractions<0, 1, 2, 3, 12, 13, 14, 15>(z, voxel);
}

/// Corner (x, y, z) of all sub-cubes.
template <int N>
TESSERA_ALWAYS_INLINE Lanes<N> corners(const CubicTile& tile, int x, int y, int z)
{
  Lanes<N> lanes;
  for (int lane = 0; lane < N; ++lane) {
    const int i = 2 * (lane & 1) + x, j = 2 * (lane >> 1 & 1) + y, k = 2 * (lane >> 2) + z;
    lanes[lane] = tile.points[k * tile.pointSlice + j * tile.pointRow + i];
  }
  return lanes;
}

// The last interpolations are between lanes, the results of a voxel's sub-cubes. They are done for the eight
// voxels of a row together: each step halves the lanes of a voxel, and two vectors become one.

/// Interpolates along z between the halves of the results of two voxels: the result has lanes x + 2 y of the
/// first voxel, then those of the second.
TESSERA_ALWAYS_INLINE Lanes<8> joinSlices(const Lanes<8>& a, const Lanes<8>& b, float betweenZ)
{
  return mix(__builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11),
             __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15), betweenZ);
}

/// Interpolates along y: the result has lanes x of the first voxels of a and b, then those of their second
/// ones.
TESSERA_ALWAYS_INLINE Lanes<8> joinRows(const Lanes<8>& a, const Lanes<8>& b, float betweenY)
{
  return mix(__builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13),
             __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15), betweenY);
}

/// Interpolates along x: the result has one lane a voxel.
TESSERA_ALWAYS_INLINE Lanes<8> joinColumns(const Lanes<8>& a, const Lanes<8>& b, const Lanes<8>& betweenX)
{
  return mix(__builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14),
             __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15), betweenX);
}

/// The last trilinear interpolation of eight voxels, where results[i] belongs to voxel i. If the voxels are
/// joined in the order 0 4, 1 5, 2 6, 3 7, the lanes come out as voxels 0 to 7.
TESSERA_ALWAYS_INLINE Lanes<8> trilinear(const Lanes<8>* results, const Lanes<8>& betweenX, float betweenY,
                                         float betweenZ)
{
  Lanes<8> squares[4];
  for (int i = 0; i < 4; ++i)
    squares[i] = joinSlices(results[i], results[i + 4], betweenZ);
  return joinColumns(joinRows(squares[0], squares[1], betweenY), joinRows(squares[2], squares[3], betweenY),
                     betweenX);
}

/// The last bilinear interpolation of eight voxels in 2D; vector i holds the results of voxels i and i + 4.
TESSERA_ALWAYS_INLINE Lanes<8> bilinear(const Lanes<8>* results, const Lanes<8>& betweenX, float betweenY)
{
  return joinColumns(joinRows(results[0], results[1], betweenY), joinRows(results[2], results[3], betweenY),
                     betweenX);
}

constexpr int width = CubicTile::vector;

TESSERA_ALWAYS_INLINE Lanes<4> half(const Lanes<8>& lanes)
{
  return __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3);
}

/// The lanes' fractions for every row and every column of a tile, and for as many columns more as fill the
/// vectors.
struct TileFractions {
  Lanes<8> x[CubicTile::largest], y[CubicTile::largest];

  TESSERA_ALWAYS_INLINE explicit TileFractions(const CubicTile& tile)
  {
    for (int i = 0; i < tile.vectors() * CubicTile::vector; ++i)
      x[i] = fractionsX(*tile.x, tile.runX.firstVoxel + i);
    for (int j = 0; j < tile.runY.voxels; ++j)
      y[j] = fractionsY(*tile.y, tile.runY.firstVoxel + j);
  }
};

TESSERA_ALWAYS_INLINE Lanes<8> betweenAlongRow(const CubicTile& tile, int x)
{
  return loadLanes<8>(tile.x->between.data() + tile.runX.firstVoxel + x);
}

TESSERA_MULTIVERSION_TO_V4 void computeVolumeTile(const CubicTile& tile)
{
  const TileFractions along(tile);
  Lanes<8> corner[2][2][2];
  for (int z = 0; z < 2; ++z)
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 2; ++x)
        corner[z][y][x] = corners<8>(tile, x, y, z);
  for (int z = 0; z < tile.runZ.voxels; ++z) {
    const Lanes<8> alongZ = fractionsZ(*tile.z, tile.runZ.firstVoxel + z);
    const float betweenZ = tile.z->between[tile.runZ.firstVoxel + z];
    float* row = tile.values + z * tile.valueSlice;
    Lanes<8> edge[2][2];
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 2; ++x)
        edge[y][x] = mix(corner[0][y][x], corner[1][y][x], alongZ);
    for (int y = 0; y < tile.runY.voxels; ++y, row += tile.valueRow) {
      const Lanes<8> left = mix(edge[0][0], edge[1][0], along.y[y]),
                     right = mix(edge[0][1], edge[1][1], along.y[y]);
      const float betweenY = tile.y->between[tile.runY.firstVoxel + y];
      for (int x = 0; x < tile.runX.voxels; x += width) {
        Lanes<8> results[width];
        for (int i = 0; i < width; ++i)
          results[i] = mix(left, right, along.x[x + i]);
        const Lanes<8> values = trilinear(results, betweenAlongRow(tile, x), betweenY, betweenZ);
        std::memcpy(row + x, &values, sizeof(values));
      }
    }
  }
}

TESSERA_MULTIVERSION_TO_V4 void computePlaneTile(const CubicTile& tile)
{
  const TileFractions along(tile);
  Lanes<4> corner[2][2];
  for (int y = 0; y < 2; ++y)
    for (int x = 0; x < 2; ++x)
      corner[y][x] = corners<4>(tile, x, y, 0);
  float* row = tile.values;
  for (int y = 0; y < tile.runY.voxels; ++y, row += tile.valueRow) {
    const Lanes<4> alongY = half(along.y[y]);
    const Lanes<4> left = mix(corner[0][0], corner[1][0], alongY),
                   right = mix(corner[0][1], corner[1][1], alongY);
    for (int x = 0; x < tile.runX.voxels; x += width) {
      Lanes<8> results[width / 2];
      for (int i = 0; i < width / 2; ++i) {
        const Lanes<4> first = mix(left, right, half(along.x[x + i])),
                       second = mix(left, right, half(along.x[x + i + 4]));
        results[i] = __builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7);
      }
      const Lanes<8> values =
          bilinear(results, betweenAlongRow(tile, x), tile.y->between[tile.runY.firstVoxel + y]);
      std::memcpy(row + x, &values, sizeof(values));
    }
  }
}

}

template <int D>
void VectorPerVoxel<D>::displacements(Context& context, const AlignedField<D>& field,
                                      const FieldCoefficients& coefficients, const FieldTarget& target) const
{
  fillByCubicTiles<D>(context, field, coefficients.onCpu, target,
                      D == 3 ? computeVolumeTile : computePlaneTile);
}

template <int D>
const ComponentDescription& VectorPerVoxel<D>::description()
{
  static const ComponentDescription description{
      "FieldInterpolator", "VectorPerVoxel",
      "CPU: the eight linear interpolations of a voxel in the lanes of a vector; whole-voxel spacing "
      "(Zachariadis et al. 2020)."};
  return description;
}

TESSERA_INSTANTIATE_CLASS(VectorPerVoxel);

}
