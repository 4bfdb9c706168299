#pragma once

#include "Components/Resamplers/Shared/OrderedFloats.cuh"
#include "Components/Resamplers/Shared/ResamplingKernels.h"

// Bounds of a B-spline's displacements: a displacement lies in the convex hull of its control points.
namespace tessera::resampling {

/// Bound of the rounding error of a displacement, relative to its length.
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
  /// Joins the bounds of all lanes of the warp.
  __device__ __forceinline__ void joinWarp()
  {
#pragma unroll
    for (int d = 0; d < D; ++d) {
      lowest[d] = smallestOfWarp(lowest[d]);
      highest[d] = -smallestOfWarp(-highest[d]);
    }
  }
};

/// Converts a displacement from mm to voxels of the moving image.
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
