#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Components/Transforms/Shared/OnCuda/ChainLaunches.h"
#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.cuh"
#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Cuda/LaunchShape.cuh"
#include "Core/Compute/Cuda/Reduction.cuh"
#include "Core/Registration/Samples/FixedPointSums.cuh"
#include "Core/Registration/Samples/SampleKernels.cuh"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr int momentThreads = 256;

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

/// Each block writes one partial sum; threads take samples by their number alone. It reads 4 D bytes a
/// sample, 4 of its factor if there are factors, and its point.
template <int D>
__global__ void __launch_bounds__(momentThreads)
    moments(const __grid_constant__ SamplesOnCuda<D> samples, const __grid_constant__ ChainOnCuda<D> chain,
            const __grid_constant__ FactoredCovectors<D> covectors, double* partials)
{
  constexpr int sums = D + D * D;
  const Vec<D> center = chain.links[chain.count - 1].centerMm;
  double sum[sums] = {};
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(momentThreads) + threadIdx.x; i < samples.count;
       i += static_cast<std::size_t>(gridDim.x) * momentThreads) {
    float v[D];
    if (!covectors.at(i, v))
      continue;
    const Vec<D> point = mapToLast<D>(chain, sampleAt(samples, i).pointMm);
#pragma unroll
    for (int row = 0; row < D; ++row) {
      sum[row] += v[row];
#pragma unroll
      for (int column = 0; column < D; ++column)
        sum[D + row * D + column] =
            fma(static_cast<double>(v[row]), point[column] - center[column], sum[D + row * D + column]);
    }
  }
#pragma unroll
  for (int s = 0; s < sums; ++s) {
    const double total = blockSum<momentThreads>(sum[s]);
    if (threadIdx.x == 0)
      partials[s * gridDim.x + blockIdx.x] = total;
  }
}

template <int D>
__global__ void __launch_bounds__(32 * (D + D * D))
    addMoments(int blocks, const double* partials, CovectorMoments<D>* result)
{
  const int s = threadIdx.x / 32, lane = threadIdx.x % 32;
  double sum = 0;
  for (int block = lane; block < blocks; block += 32)
    sum += partials[s * blocks + block];
  sum = warpSum(sum);
  if (lane != 0)
    return;
  if (s < D)
    result->sum[s] += sum;
  else
    result->outer[(s - D) / D][(s - D) % D] += sum;
}

/// For splines: the points at which the last transform is evaluated for samples [first, first + count), NaN
/// if the covector is 0, and the covectors. It writes 16 D bytes a sample.
template <int D>
__global__ void writeCovectors(const __grid_constant__ SamplesOnCuda<D> samples, const std::size_t first,
                               const std::size_t count, const __grid_constant__ ChainOnCuda<D> chain,
                               const __grid_constant__ FactoredCovectors<D> covectors, double* points,
                               double* values)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i >= count)
    return;
  float v[D];
  const bool any = covectors.at(first + i, v);
  Vec<D> pointMm;
  pointMm.fill(NAN);
  if (any)
    pointMm = mapToLast<D>(chain, sampleAt(samples, first + i).pointMm);
#pragma unroll
  for (int d = 0; d < D; ++d) {
    points[d * count + i] = pointMm[d];
    values[d * count + i] = v[d];
  }
}

template <int D>
__global__ void largestMagnitude(std::size_t count, const __grid_constant__ FactoredCovectors<D> covectors,
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

/// The adjoint of a B-spline: gradient[c][k] += w_k v[c] for each sample and each control point k of its
/// support, with w_k the product of its weights along the axes. Each warp takes one sample, and its lanes
/// share the control points. It reads 4 D bytes, and 4 of a factor, and adds (order + 1)^D D integers.
template <int D, int Order>
__global__ void scatter(const __grid_constant__ SamplesOnCuda<D> samples,
                        const __grid_constant__ ChainOnCuda<D> chain,
                        const __grid_constant__ FactoredCovectors<D> covectors, const CovectorBound bound,
                        unsigned long long* sums)
{
  constexpr int taps = Order + 1, points = D == 3 ? taps * taps * taps : taps * taps;
  const TransformOnCuda<D>& transform = chain.links[chain.count - 1];
  const std::size_t i = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32, pointCount = transform.pointCount();
  if (i >= samples.count)
    return;
  float v[D];
  if (!covectors.at(i, v))
    return;
  SupportOnCuda<D, Order> support;
  if (!support.find(transform, mapToLast<D>(chain, sampleAt(samples, i).pointMm)))
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

}

template <int D>
void momentsOnCuda(Context& context, const SamplesOnCuda<D>& samples, const ChainOnCuda<D>& chain,
                   const std::array<const float*, D>& covectors, const float* factors, double* scratch,
                   CovectorMoments<D>* result)
{
  const int blocks = static_cast<int>(std::clamp<std::size_t>(
      ceilDiv<std::size_t>(samples.count, momentThreads), 1, static_cast<std::size_t>(maxMomentBlocks)));
  moments<D><<<blocks, momentThreads, 0, cudaStreamOf(context)>>>(
      samples, chain, FactoredCovectors<D>{covectors, factors}, scratch);
  checkLaunch("moments of covectors");
  addMoments<D><<<1, 32 * (D + D * D), 0, cudaStreamOf(context)>>>(blocks, scratch, result);
  checkLaunch("moments of covectors");
}

template <int D>
void covectorsOnCuda(Context& context, const SamplesOnCuda<D>& samples, std::size_t first, std::size_t count,
                     const ChainOnCuda<D>& chain, const std::array<const float*, D>& covectors,
                     const float* factors, double* points, double* values)
{
  constexpr int threads = 128;
  if (count == 0)
    return;
  writeCovectors<D>
      <<<static_cast<unsigned>(ceilDiv<std::size_t>(count, threads)), threads, 0, cudaStreamOf(context)>>>(
          samples, first, count, chain, FactoredCovectors<D>{covectors, factors}, points, values);
  checkLaunch("covectors of samples");
}

namespace {

constexpr int pullBackThreads = 256;

unsigned blocksOfLargest(std::size_t samples)
{
  return static_cast<unsigned>(std::min<std::size_t>(ceilDiv<std::size_t>(samples, pullBackThreads), 1024));
}

/// The kernel needs nearly all registers, and a block ends with its slowest warp.
int blockThreadsOfScatter(const Context& context, std::size_t samples)
{
  return std::clamp(blockThreads(context.device.ordinal, "adjoint", samples, 64), 32, 256) / 32 * 32;
}

}

PullBackShapes pullBackBSplineShapes(const Context& context, std::size_t samples, std::size_t parameters)
{
  const int threads = blockThreadsOfScatter(context, samples);
  return {shapeOf(largestMagnitude<3>, blocksOfLargest(samples), pullBackThreads),
          shapeOf(scatter<3, 3>, std::ceil(static_cast<double>(samples) / (threads / 32)), threads),
          shapeOf(moveFixedPointSums<CovectorBound>,
                  std::min(std::ceil(static_cast<double>(parameters) / 256), 4096.0), 256)};
}

template <int D>
void pullBackBSplineOnCuda(Context& context, const SamplesOnCuda<D>& samples, const ChainOnCuda<D>& chain,
                           const std::array<const float*, D>& covectors, const float* factors,
                           unsigned long long* sums, unsigned* largest, double* gradient,
                           const GradientUpdate& update)
{
  const TransformOnCuda<D>& transform = chain.links[chain.count - 1];
  const std::size_t parameters = static_cast<std::size_t>(D) * transform.pointCount();
  if (samples.count == 0)
    return;
  const cudaStream_t stream = cudaStreamOf(context);
  const FactoredCovectors<D> from{covectors, factors};
  checkCuda(cudaMemsetAsync(largest, 0, sizeof *largest, stream), "filling device memory");
  largestMagnitude<D>
      <<<blocksOfLargest(samples.count), pullBackThreads, 0, stream>>>(samples.count, from, largest);
  const int threads = blockThreadsOfScatter(context, samples.count);
  const auto blocks = static_cast<unsigned>(ceilDiv<std::size_t>(samples.count, threads / 32));
  const auto kernel = transform.order == 3   ? scatter<D, 3>
                      : transform.order == 2 ? scatter<D, 2>
                                             : scatter<D, 1>;
  const CovectorBound bound{largest, samples.count};
  kernel<<<blocks, threads, 0, stream>>>(samples, chain, from, bound, sums);
  checkLaunch("pull-back of a B-spline");
  addFixedPointSums(stream, parameters, bound, update, sums, gradient);
}

TESSERA_INSTANTIATE_FUNCTIONS(momentsOnCuda<D>, covectorsOnCuda<D>, pullBackBSplineOnCuda<D>);

}
