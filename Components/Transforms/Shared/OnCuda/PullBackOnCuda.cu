#include "Components/Transforms/Shared/OnCuda/ChainLaunches.h"
#include "Components/Transforms/Shared/OnCuda/PullBack.cuh"
#include "Core/Compute/Cuda/LaunchShape.cuh"
#include "Core/Compute/Math/WithConstant.h"
#include "Core/Registration/Samples/SampleKernels.cuh"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

/// It reads 4 D bytes a sample, 4 of its factor if there are factors, and its point.
template <int D>
__global__ void __launch_bounds__(momentThreads)
    moments(const __grid_constant__ SamplesOnCuda<D> samples, const __grid_constant__ ChainOnCuda<D> chain,
            const __grid_constant__ FactoredCovectors<D> covectors, double* partials)
{
  writeMoments<D, D>(
      samples.count, chain.links[chain.count - 1].centerMm,
      [&](std::size_t i, float(&v)[D], Vec<D>& pointMm) {
        if (!covectors.at(i, v))
          return false;
        pointMm = mapToLast<D>(chain, sampleAt(samples, i).pointMm);
        return true;
      },
      partials);
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

/// Each warp takes one sample.
template <int D, int Order>
__global__ void scatter(const __grid_constant__ SamplesOnCuda<D> samples,
                        const __grid_constant__ ChainOnCuda<D> chain,
                        const __grid_constant__ FactoredCovectors<D> covectors, const CovectorBound bound,
                        unsigned long long* sums)
{
  const std::size_t i = (blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x) / 32;
  if (i >= samples.count)
    return;
  float v[D];
  if (covectors.at(i, v))
    scatterCovector<D, Order>(chain.links[chain.count - 1], mapToLast<D>(chain, sampleAt(samples, i).pointMm),
                              v, bound, sums);
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

PullBackShapes pullBackBSplineShapes(const Context& context, std::size_t samples, std::size_t parameters)
{
  const int threads = blockThreadsOfScatter(context, samples);
  return {shapeOf(largestCovector<3>, blocksOfLargest(samples), pullBackThreads),
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
  findLargest<D>(stream, samples.count, from, largest);
  const int threads = blockThreadsOfScatter(context, samples.count);
  const auto blocks = static_cast<unsigned>(ceilDiv<std::size_t>(samples.count, threads / 32));
  const auto kernel = withConstant<1, 3>(transform.order, [&]<int Order>() { return scatter<D, Order>; });
  const CovectorBound bound{largest, samples.count};
  kernel<<<blocks, threads, 0, stream>>>(samples, chain, from, bound, sums);
  checkLaunch("pull-back of a B-spline");
  addFixedPointSums(stream, parameters, bound, update, sums, gradient);
}

TESSERA_INSTANTIATE_FUNCTIONS(momentsOnCuda<D>, covectorsOnCuda<D>, pullBackBSplineOnCuda<D>);

}
