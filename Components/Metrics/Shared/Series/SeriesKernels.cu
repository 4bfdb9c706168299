#include "Components/Metrics/Shared/Series/SeriesKernels.h"

#include "Core/Compute/Cuda/Reduction.cuh"
#include "Core/Registration/Samples/SampleKernels.cuh"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr int threadsOfSeries = 128;

/// The number of this thread in its grid.
__device__ std::size_t threadOfGrid()
{
  return blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
}

unsigned blocksOf(std::size_t count)
{
  return static_cast<unsigned>(ceilDiv<std::size_t>(count, threadsOfSeries));
}

/// One entry a thread.
template <int D>
__global__ void spread(const __grid_constant__ SamplesOnCuda<D> samples, std::size_t first,
                       const PlacesOnCuda places, const std::uint32_t* timeOf, double originOfTime,
                       double spacingOfTime, double* pointMm, unsigned long long* asked)
{
  const std::size_t entry = threadOfGrid(), entries = places.entries();
  const bool exists = entry < entries;
  SampleOnCuda<D> sample;
  sample.asked = false;
  if (exists) {
    sample = sampleAt(samples, first + entry % places.places);
#pragma unroll
    for (int d = 0; d < D - 1; ++d)
      pointMm[d * entries + entry] = sample.asked ? sample.pointMm[d] : NAN;
    pointMm[(D - 1) * entries + entry] = originOfTime + spacingOfTime * timeOf[entry];
  }
  addAsked(sample.asked && entry < places.places, asked);
}

/// One entry a thread.
template <int D>
__global__ void keepValid(std::size_t entries, const std::array<const double*, D> mappedMm,
                          const std::uint8_t* inside, const __grid_constant__ MovingOnCuda<D> moving,
                          float* values, const std::array<float*, D> gradientPerMm)
{
  const std::size_t i = threadOfGrid();
  if (i >= entries)
    return;
  Vec<D> pointMm, gradient{};
#pragma unroll
  for (int d = 0; d < D; ++d)
    pointMm[d] = mappedMm[d][i];
  const bool counts = inside[i] != 0 && moving.mask.contains(pointMm) && values[i] == values[i];
  if (!counts)
    values[i] = NAN;
  if (gradientPerMm[0] == nullptr || (counts && !moving.turnsGradient))
    return;
#pragma unroll
  for (int d = 0; d < D && counts; ++d)
    gradient[d] = gradientPerMm[d][i];
  gradient = apply<D>(moving.gradientMatrix, gradient);
#pragma unroll
  for (int d = 0; d < D; ++d)
    gradientPerMm[d][i] = static_cast<float>(gradient[d]);
}

/// One parameter of a time a thread.
__global__ void subtractMeans(std::size_t groups, std::size_t times, std::size_t each, double* gradient)
{
  const std::size_t i = threadOfGrid();
  if (i < groups * each)
    subtractMeanOverTime(gradient + i / each * times * each + i % each, times, each);
}

/// One place a thread. Each block writes its two sums.
__global__ void __launch_bounds__(threadsOfSeries) variances(const PlacesOnCuda places, double* ofBlocks)
{
  double sum = 0, valid = 0;
  for (std::size_t i = threadOfGrid(); i < places.places;
       i += static_cast<std::size_t>(gridDim.x) * threadsOfSeries)
    valid += addVariance(places.values + i, places.slopes != nullptr ? places.slopes + i : nullptr,
                         places.times, places.places, sum);
  sum = blockSum<threadsOfSeries>(sum);
  valid = blockSum<threadsOfSeries>(valid);
  if (threadIdx.x == 0) {
    ofBlocks[2 * blockIdx.x] = sum;
    ofBlocks[2 * blockIdx.x + 1] = valid;
  }
}

/// A warp for each sum.
__global__ void addBlocks(unsigned blocks, const double* ofBlocks, double* sums)
{
  const unsigned which = threadIdx.x / 32;
  double sum = 0;
  for (unsigned block = threadIdx.x % 32; block < blocks; block += 32)
    sum += ofBlocks[2 * block + which];
  sum = warpSum(sum);
  if (threadIdx.x % 32 == 0)
    sums[which] += sum;
}

/// One place a thread.
__global__ void keepWholeRows(const PlacesOnCuda places)
{
  const std::size_t i = threadOfGrid();
  if (i >= places.places)
    return;
  bool isWhole = true;
  for (std::size_t t = 0; t < places.times; ++t)
    isWhole = isWhole && !isnan(places.values[t * places.places + i]);
  for (std::size_t t = 0; t < places.times && !isWhole; ++t)
    places.values[t * places.places + i] = NAN;
}

/// One sum of products a block.
__global__ void __launch_bounds__(threadsOfSeries)
    products(const PlacesOnCuda places, const double* shifts, double* sums)
{
  const std::size_t t = blockIdx.x, u = blockIdx.y;
  const auto factor = [&](std::size_t time, std::size_t place) {
    return time < places.times ? places.values[time * places.places + place] - shifts[time] : 1.0;
  };
  double sum = 0;
  for (std::size_t i = threadIdx.x; i < places.places; i += threadsOfSeries)
    if (!isnan(places.values[i]))
      sum += factor(t, i) * factor(u, i);
  sum = blockSum<threadsOfSeries>(sum);
  if (threadIdx.x == 0)
    sums[t * gridDim.x + u] += sum;
}

__global__ void slopesOverTime(const PlacesOnCuda places, const double* means, const double* matrix)
{
  const std::size_t entry = threadOfGrid();
  if (entry >= places.entries())
    return;
  const std::size_t i = entry % places.places, t = entry / places.places;
  double slope = 0;
  for (std::size_t u = 0; u < places.times; ++u)
    slope += matrix[t * places.times + u] * (places.values[u * places.places + i] - means[u]);
  places.slopes[entry] = isnan(slope) ? 0 : static_cast<float>(slope);
}

}

template <int D>
void spreadOverTimeOnCuda(Context& context, const SamplesOnCuda<D>& samples, std::size_t first,
                          const PlacesOnCuda& places, const std::uint32_t* timeOf, double originOfTime,
                          double spacingOfTime, double* pointMm, unsigned long long* asked)
{
  spread<D><<<blocksOf(places.entries()), threadsOfSeries, 0, cudaStreamOf(context)>>>(
      samples, first, places, timeOf, originOfTime, spacingOfTime, pointMm, asked);
  checkLaunch("places of a series");
}

template <int D>
void keepValidOnCuda(Context& context, std::size_t entries, const std::array<const double*, D>& mappedMm,
                     const std::uint8_t* inside, const MovingOnCuda<D>& moving, float* values,
                     const std::array<float*, D>& gradientPerMm)
{
  keepValid<D><<<blocksOf(entries), threadsOfSeries, 0, cudaStreamOf(context)>>>(
      entries, mappedMm, inside, moving, values, gradientPerMm);
  checkLaunch("values of a series");
}

void subtractMeanOverTimeOnCuda(const Context& context, std::size_t groups, std::size_t times,
                                std::size_t each, double* gradient)
{
  subtractMeans<<<blocksOf(groups * each), threadsOfSeries, 0, cudaStreamOf(context)>>>(groups, times, each,
                                                                                        gradient);
  checkLaunch("mean over time of a gradient");
}

void addVariancesOnCuda(Context& context, const PlacesOnCuda& places, double* scratch, double* sums)
{
  const unsigned blocks = std::min(blocksOf(places.places), maxVarianceBlocks);
  const cudaStream_t stream = cudaStreamOf(context);
  variances<<<blocks, threadsOfSeries, 0, stream>>>(places, scratch);
  addBlocks<<<1, 64, 0, stream>>>(blocks, scratch, sums);
  checkLaunch("variances over time");
}

void addProductsOverTimeOnCuda(Context& context, const PlacesOnCuda& places, const double* shifts,
                               double* sums)
{
  const cudaStream_t stream = cudaStreamOf(context);
  const auto rows = static_cast<unsigned>(places.times + 1);
  keepWholeRows<<<blocksOf(places.places), threadsOfSeries, 0, stream>>>(places);
  products<<<dim3(rows, rows), threadsOfSeries, 0, stream>>>(places, shifts, sums);
  checkLaunch("products over time");
}

void setSlopesOverTimeOnCuda(Context& context, const PlacesOnCuda& places, const double* means,
                             const double* matrix)
{
  slopesOverTime<<<blocksOf(places.entries()), threadsOfSeries, 0, cudaStreamOf(context)>>>(places, means,
                                                                                            matrix);
  checkLaunch("slopes over time");
}

// Series are images of two or three dimensions over time.
TESSERA_INSTANTIATE_FUNCTIONS(spreadOverTimeOnCuda<D + 1>, keepValidOnCuda<D + 1>);

}
