#pragma once

#include "Components/Resamplers/Shared/OrderedFloats.cuh"
#include "Components/Resamplers/Shared/ResamplingKernels.h"

// Bounds of a B-spline's displacements: each lies in the convex hull of its control points.
namespace tessera::resampling {

/// Of the roundings of a displacement, for each voxel of its length.
constexpr float slackOfHull = 0x1p-18f;

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
  /// For roundings of displacements.
  __device__ __forceinline__ void widen()
  {
#pragma unroll
    for (int d = 0; d < D; ++d) {
      const float slack = slackOfHull * fmaxf(fabsf(lowest[d]), fabsf(highest[d]));
      lowest[d] -= slack;
      highest[d] += slack;
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
