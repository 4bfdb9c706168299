#include "Core/Compute/Vectors/VectorOpsOnCuda.h"

#include "Core/Compute/Cuda/Reduction.cuh"
#include "Core/Compute/Memory/Buffer.h"

#include <algorithm>

namespace tessera::oncuda {
namespace {

constexpr int threads = 256;

int blocksFor(std::size_t count)
{
  return static_cast<int>(std::min<std::size_t>(ceilDiv<std::size_t>(count, threads), 4096));
}

/// y_i = f(i); 8 bytes a vector and element.
template <class F>
__global__ void forEach(std::size_t count, double* y, F f)
{
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    y[i] = f(i);
}

template <class F>
void launch(const Context& context, std::span<double> y, F f)
{
  if (y.empty())
    return;
  forEach<<<blocksFor(y.size()), threads, 0, cudaStreamOf(context)>>>(y.size(), y.data(), f);
  checkLaunch("vector operation");
}

// The number of blocks for a pair depends on the number of elements alone.
constexpr int dotThreads = 512;
constexpr int maxDotBlocks = 256;
// Elements for each block, until there are maxDotBlocks blocks.
constexpr std::size_t dotBlockSize = 16 * dotThreads;

constexpr int mostPairs = 32; // of a launch
struct Pairs {
  const double *a[mostPairs], *b[mostPairs];
};

/// Row y of the grid sums pair y.
__global__ void __launch_bounds__(dotThreads) dotPartials(std::size_t count, Pairs pairs, double* partials)
{
  const double *a = pairs.a[blockIdx.y], *b = pairs.b[blockIdx.y];
  double sum = 0;
#pragma unroll 8 // loads that do not wait for each other
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(dotThreads) + threadIdx.x; i < count;
       i += static_cast<std::size_t>(gridDim.x) * dotThreads)
    sum = fma(a[i], b[i], sum);
  sum = blockSum<dotThreads>(sum);
  if (threadIdx.x == 0)
    partials[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

/// Block y sums the `count` partial sums of pair y.
__global__ void __launch_bounds__(maxDotBlocks)
    sumPartials(int count, const double* partials, double* results)
{
  const double* own = partials + blockIdx.x * count;
  const double sum = blockSum<maxDotBlocks>(static_cast<int>(threadIdx.x) < count ? own[threadIdx.x] : 0);
  if (threadIdx.x == 0)
    results[blockIdx.x] = sum;
}

constexpr std::size_t mostTerms = 12; // of a launch
struct Terms {
  double weights[mostTerms];
  const double* x[mostTerms];
};

/// max |a_i|, by its bits: the bits of doubles that are not negative are in the order of the numbers.
__global__ void findLargest(std::size_t count, const double* a, unsigned long long* largest)
{
  double maxMagnitude = 0;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    maxMagnitude = fmax(maxMagnitude, fabs(a[i]));
  for (int offset = 16; offset > 0; offset /= 2)
    maxMagnitude = fmax(maxMagnitude, __shfl_down_sync(~0u, maxMagnitude, offset));
  if (threadIdx.x % 32 == 0 && maxMagnitude > 0)
    atomicMax(largest, static_cast<unsigned long long>(__double_as_longlong(maxMagnitude)));
}

__global__ void convert(std::size_t count, const double* x, float* y)
{
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    y[i] = static_cast<float>(x[i]);
}

/// Reads 8 bytes an element and writes 4.
__global__ void addFloats(std::size_t count, const float* x, float* y)
{
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x)
    y[i] += x[i];
}

}

unsigned dotBlocks(std::size_t count)
{
  return static_cast<unsigned>(std::clamp<std::size_t>(ceilDiv(count, dotBlockSize), 1, maxDotBlocks));
}

void dotsInto(const Context& context, std::span<const VectorPair> pairs, double* results)
{
  if (pairs.size() > mostPairs) {
    dotsInto(context, pairs.first(mostPairs), results);
    return dotsInto(context, pairs.subspan(mostPairs), results + mostPairs);
  }
  Pairs onDevice;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    onDevice.a[i] = pairs[i].a.data();
    onDevice.b[i] = pairs[i].b.data();
  }
  const auto rows = static_cast<unsigned>(pairs.size());
  const std::size_t count = pairs.front().a.size();
  const unsigned blocks = dotBlocks(count);
  const cudaStream_t stream = cudaStreamOf(context);
  if (blocks == 1) {
    dotPartials<<<dim3(1, rows), dotThreads, 0, stream>>>(count, onDevice, results);
  } else {
    Buffer<double> partials(context, blocks * rows);
    dotPartials<<<dim3(blocks, rows), dotThreads, 0, stream>>>(count, onDevice, partials.span().data());
    sumPartials<<<rows, maxDotBlocks, 0, stream>>>(static_cast<int>(blocks), partials.span().data(), results);
  }
  checkLaunch("dot products");
}

std::vector<double> dots(const Context& context, std::span<const VectorPair> pairs)
{
  Buffer<double> results(context, pairs.size());
  dotsInto(context, pairs, results.span().data());
  return results.toHost(context);
}

double largestMagnitude(const Context& context, std::span<const double> a)
{
  if (a.empty())
    return 0;
  Buffer<double> largest(context, 1);
  context.stream->fill(largest.span().data(), 0, sizeof(double));
  findLargest<<<std::min(blocksFor(a.size()), 512), threads, 0, cudaStreamOf(context)>>>(
      a.size(), a.data(), reinterpret_cast<unsigned long long*>(largest.span().data()));
  checkLaunch("largest magnitude");
  return largest.toHost(context).front();
}

void combine(const Context& context, double a, std::span<const double> x, double b, std::span<double> y)
{
  const double *from = x.data(), *before = y.data();
  if (b == 0)
    launch(context, y, [=] __device__(std::size_t i) { return a * from[i]; });
  else
    launch(context, y, [=] __device__(std::size_t i) { return b * before[i] + a * from[i]; });
}

void sumInto(const Context& context, std::span<const WeightedVector> terms, std::span<const double> z,
             std::span<double> y)
{
  if (terms.size() > mostTerms) {
    oncuda::sumInto(context, terms.first(mostTerms), {}, y);
    std::vector<WeightedVector> rest{{1, y}};
    rest.insert(rest.end(), terms.begin() + mostTerms, terms.end());
    return oncuda::sumInto(context, rest, z, y);
  }
  Terms of{};
  for (std::size_t t = 0; t < terms.size(); ++t) {
    of.weights[t] = terms[t].weight;
    of.x[t] = terms[t].x.data();
  }
  const double* const factors = z.empty() ? nullptr : z.data();
  const std::size_t count = terms.size();
  launch(context, y, [=] __device__(std::size_t i) {
    double sum = of.weights[0] * of.x[0][i];
    for (std::size_t t = 1; t < count; ++t)
      sum += of.weights[t] * of.x[t][i];
    return factors ? sum * factors[i] : sum;
  });
}

void addBounded(const Context& context, double factor, std::span<const double> x, double bound,
                std::span<double> y)
{
  const double *from = x.data(), *before = y.data();
  launch(context, y,
         [=] __device__(std::size_t i) { return before[i] + fmin(fmax(factor * from[i], -bound), bound); });
}

void multiplyInto(const Context& context, std::span<const double> a, std::span<const double> b,
                  std::span<double> y)
{
  const double *left = a.data(), *right = b.data();
  launch(context, y, [=] __device__(std::size_t i) { return left[i] * right[i]; });
}

void divideInto(const Context& context, std::span<const double> a, std::span<const double> b,
                std::span<double> y)
{
  const double *left = a.data(), *right = b.data();
  launch(context, y, [=] __device__(std::size_t i) { return left[i] / right[i]; });
}

void fill(const Context& context, double value, std::span<double> y)
{
  launch(context, y, [=] __device__(std::size_t) { return value; });
}

void toFloat(const Context& context, std::span<const double> x, std::span<float> y)
{
  if (y.empty())
    return;
  convert<<<blocksFor(y.size()), threads, 0, cudaStreamOf(context)>>>(y.size(), x.data(), y.data());
  checkLaunch("conversion to float");
}

void add(const Context& context, std::span<const float> x, std::span<float> y)
{
  if (y.empty())
    return;
  addFloats<<<blocksFor(y.size()), threads, 0, cudaStreamOf(context)>>>(y.size(), x.data(), y.data());
  checkLaunch("sum of vectors");
}

}
