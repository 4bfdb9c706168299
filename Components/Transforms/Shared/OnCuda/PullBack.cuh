#pragma once

#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.cuh"
#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Cuda/Reduction.cuh"
#include "Core/Registration/Samples/FixedPointSums.cuh"

#include <algorithm>

// Pull-backs of transforms of an image and of stacks of transforms use this code.
namespace tessera {

template <int D>
struct FactoredCovectors {
  std::array<const float*, D> arrays;
  const float* factors; // null: all factors are 1

  /// Loads the covector of sample i times its factor; false if it is 0.
  __device__ bool at(std::size_t i, float (&v)[D]) const
  {
    const float factor = factors ? factors[i] : 1;
    bool any = false;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      v[d] = factor * arrays[d][i];
      any = any || v[d] != 0;
    }
    return any;
  }
};

template <int D>
__global__ void largestCovector(std::size_t count, const __grid_constant__ FactoredCovectors<D> covectors,
                                unsigned* largest)
{
  float most = 0;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    float v[D];
    covectors.at(i, v);
#pragma unroll
    for (int d = 0; d < D; ++d)
      most = fmaxf(most, fabsf(v[d]));
  }
  for (int offset = 16; offset > 0; offset /= 2)
    most = fmaxf(most, __shfl_down_sync(~0u, most, offset));
  if (threadIdx.x % 32 == 0 && most > 0)
    atomicMax(largest, __float_as_uint(most)); // the bits of positive floats are in the order of the numbers
}

/// A bound of the sums over all samples, since no weight is larger than 1.
struct CovectorBound {
  const unsigned* largest;
  std::size_t count;

  __device__ double maxSum() const
  {
    return static_cast<double>(__uint_as_float(*largest)) * static_cast<double>(count);
  }
};

/// The adjoint of a B-spline at one point: gradient[c][k] += w_k v[c] for each control point k of its
/// support, with w_k the product of its weights along the axes. A warp calls it, and its lanes share the
/// control points. It reads 4 D bytes, and 4 of a factor, and adds (order + 1)^D D integers.
template <int D, int Order>
__device__ void scatterCovector(const TransformOnCuda<D>& transform, const Vec<D>& pointMm,
                                const float (&v)[D], const CovectorBound& bound, unsigned long long* sums)
{
  constexpr int taps = Order + 1, points = D == 3 ? taps * taps * taps : taps * taps;
  const int lane = threadIdx.x % 32, pointCount = transform.pointCount();
  SupportOnCuda<D, Order> support;
  if (!support.find(transform, pointMm))
    return;
  const double scale = scalbn(1.0, fixedPointExponent(bound.maxSum()));
  for (int p = lane; p < points; p += 32) {
    const int k = p % taps, middle = D == 3 ? p / taps % taps : 0, last = p / (D == 3 ? taps * taps : taps);
    double weight = 0;
    int at = 0;
    // A selection instead of an index that is not constant, which would put the arrays into local memory.
#pragma unroll
    for (int a = 0; a < taps; ++a) {
      weight = a == k ? support.weights[0][a] : weight;
      at = a == last ? support.slices[a] : at;
    }
    double others = 0, ofMiddle = 1;
#pragma unroll
    for (int a = 0; a < taps; ++a) {
      others = a == last ? support.weights[D - 1][a] : others;
      if constexpr (D == 3)
        ofMiddle = a == middle ? support.weights[1][a] : ofMiddle;
    }
    weight *= ofMiddle * others * scale;
    at += support.first + middle * support.rowStride + k;
#pragma unroll
    for (int c = 0; c < D; ++c)
      if (v[c] != 0 && c < transform.components())
        atomicAdd(sums + c * pointCount + at, static_cast<unsigned long long>(__double2ll_rn(weight * v[c])));
  }
}

constexpr int momentThreads = 256;

/// The moments of covectors of S components (CovectorMoments), one sum after the other. take(i, v, pointMm)
/// gives the covector of sample i and the point at which it acts; false if sample i does not count. Each
/// block writes one partial sum for its blockIdx.y, in an order that does not depend on the device, since
/// threads take samples by their number alone.
template <int S, int D, class Take>
__device__ void writeMoments(std::size_t samples, const Vec<S>& centerMm, const Take& take, double* partials)
{
  constexpr int sums = S + S * S;
  double sum[sums] = {};
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(momentThreads) + threadIdx.x; i < samples;
       i += static_cast<std::size_t>(gridDim.x) * momentThreads) {
    float v[D];
    Vec<S> pointMm;
    if (!take(i, v, pointMm))
      continue;
#pragma unroll
    for (int row = 0; row < S; ++row) {
      sum[row] += v[row];
#pragma unroll
      for (int column = 0; column < S; ++column)
        sum[S + row * S + column] =
            fma(static_cast<double>(v[row]), pointMm[column] - centerMm[column], sum[S + row * S + column]);
    }
  }
#pragma unroll
  for (int s = 0; s < sums; ++s) {
    const double total = blockSum<momentThreads>(sum[s]);
    if (threadIdx.x == 0)
      partials[(blockIdx.y * sums + s) * static_cast<std::size_t>(gridDim.x) + blockIdx.x] = total;
  }
}

constexpr int pullBackThreads = 256;

inline unsigned blocksOfLargest(std::size_t samples)
{
  return static_cast<unsigned>(std::min<std::size_t>(ceilDiv<std::size_t>(samples, pullBackThreads), 1024));
}

/// The kernel needs nearly all registers, and a block ends with its slowest warp.
inline int blockThreadsOfScatter(const Context& context, std::size_t samples)
{
  return std::clamp(blockThreads(context.device.ordinal, "adjoint", samples, 64), 32, 256) / 32 * 32;
}

/// Writes the largest magnitude of all covectors as the bits of a float.
template <int D>
void findLargest(cudaStream_t stream, std::size_t samples, const FactoredCovectors<D>& covectors,
                 unsigned* largest)
{
  checkCuda(cudaMemsetAsync(largest, 0, sizeof *largest, stream), "filling device memory");
  largestCovector<D><<<blocksOfLargest(samples), pullBackThreads, 0, stream>>>(samples, covectors, largest);
}

}
