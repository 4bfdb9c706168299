#pragma once

#include "Components/Resamplers/ResamplingKernels.h"

// Bounds of a B-spline's displacements: each lies in the convex hull of its control points.
namespace tessera::resampling {

/// Of the roundings of a displacement, for each voxel of its length.
constexpr float slackOfHull = 0x1p-18f;

/// Integers in the order of the floats, none of which is NaN.
__device__ __forceinline__ int ordered(float value)
{
  const int bits = __float_as_int(value);
  return bits ^ (bits >> 31 & 0x7fffffff);
}

__device__ __forceinline__ float fromOrdered(int bits)
{
  return __int_as_float(bits ^ (bits >> 31 & 0x7fffffff));
}

/// Of all 32 lanes.
__device__ __forceinline__ float smallestOfWarp(float value)
{
#if __CUDA_ARCH__ >= 800
  return fromOrdered(__reduce_min_sync(~0u, ordered(value)));
#else
  for (int offset = 16; offset > 0; offset /= 2)
    value = fminf(value, __shfl_xor_sync(~0u, value, offset));
  return value;
#endif
}

template <int D>
struct Hull {
  float lowest[D], highest[D];

  __device__ Hull()
  {
#pragma unroll
    for (int d = 0; d < D; ++d) {
      lowest[d] = HUGE_VALF;
      highest[d] = -HUGE_VALF;
    }
  }
  __device__ __forceinline__ void include(const float (&u)[D])
  {
#pragma unroll
    for (int d = 0; d < D; ++d) {
      lowest[d] = fminf(lowest[d], u[d]);
      highest[d] = fmaxf(highest[d], u[d]);
    }
  }
  /// With those of the warp's other lanes.
  __device__ __forceinline__ void joinWarp()
  {
#pragma unroll
    for (int d = 0; d < D; ++d) {
      lowest[d] = smallestOfWarp(lowest[d]);
      highest[d] = -smallestOfWarp(-highest[d]);
    }
  }
};

/// A displacement of mm in voxels of the moving image.
template <int D>
__device__ __forceinline__ void toVoxels(const SplineToResample<D>& s, const float (&mm)[D], float (&u)[D])
{
#pragma unroll
  for (int d = 0; d < D; ++d) {
    u[d] = 0;
#pragma unroll
    for (int e = 0; e < D; ++e)
      u[d] = fmaf(s.indexFromDisplacement[d][e], mm[e], u[d]);
  }
}

}
