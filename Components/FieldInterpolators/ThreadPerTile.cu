#include "Components/FieldInterpolators/Shared/ThreadPerTileDriver.cuh"
#include "Components/FieldInterpolators/ThreadPerTile.h"

namespace tessera {
namespace {

/// Eq. 1 of Zachariadis et al. 2020 as a weighted sum for each voxel: 84 operations a voxel and component in
/// 3D.
template <int D>
struct TileSum {
  static constexpr int blocksPerMultiprocessor = 3, slices = D == 3 ? 4 : 1;

  float points[slices][4][4];
  float weightsY[4], weightsZ[4];

  TESSERA_HOST_DEVICE void setSlice(float4 z) { set(weightsZ, z); }
  TESSERA_HOST_DEVICE void setRow(float4 y) { set(weightsY, y); }
  TESSERA_HOST_DEVICE float at(float4 x) const
  {
    float weightsX[4], inSlice[slices];
    set(weightsX, x);
    TESSERA_UNROLL
    for (int k = 0; k < slices; ++k) {
      float inRow[4];
      TESSERA_UNROLL
      for (int j = 0; j < 4; ++j)
        inRow[j] = weightedSum(weightsX, points[k][j]);
      inSlice[k] = weightedSum(weightsY, inRow);
    }
    return D == 3 ? weightedSum(weightsZ, inSlice) : inSlice[0];
  }

private:
  TESSERA_HOST_DEVICE static void set(float (&weights)[4], float4 entry)
  {
    weights[0] = entry.x, weights[1] = entry.y, weights[2] = entry.z, weights[3] = entry.w;
  }
};

}

template <int D>
void ThreadPerTile<D>::displacements(Context& context, const AlignedField<D>& field,
                                     const FieldCoefficients& coefficients, const FieldTarget& target) const
{
  launchThreadPerTile<D, TileSum<D>>(context, tiledFieldOf<SplineWeights<3>>(field, coefficients, target),
                                     "ThreadPerTile");
}

TESSERA_INSTANTIATE_CLASS(ThreadPerTile);

}
