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

// A block sums 1024 elements in a round. The number of blocks depends on the number of elements alone.
constexpr int dotThreads = 512;
constexpr int maxDotBlocks = 256;
// Elements for each block, until there are maxDotBlocks blocks.
constexpr std::size_t dotBlockSize = 16 * dotThreads;

__global__ void __launch_bounds__(dotThreads)
    dotPartials(std::size_t count, const double* a, const double* b, double* partials)
{
  double sum = 0;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(dotThreads) + threadIdx.x; i < count;
       i += static_cast<std::size_t>(gridDim.x) * dotThreads)
    sum = fma(a[i], b[i], sum);
  sum = blockSum<dotThreads>(sum);
  if (threadIdx.x == 0)
    partials[blockIdx.x] = sum;
}

/// The first block computes a . a and the second a . b, each in the order of a single block of dotPartials.
__global__ void __launch_bounds__(dotThreads)
    bothDots(std::size_t count, const double* a, const double* b, double* results)
{
  const double* other = blockIdx.x == 0 ? a : b;
  double sum = 0;
  for (std::size_t i = threadIdx.x; i < count; i += dotThreads)
    sum = fma(a[i], other[i], sum);
  sum = blockSum<dotThreads>(sum);
  if (threadIdx.x == 0)
    results[blockIdx.x] = sum;
}

__global__ void __launch_bounds__(maxDotBlocks) sumPartials(int count, const double* partials, double* result)
{
  const double sum =
      blockSum<maxDotBlocks>(static_cast<int>(threadIdx.x) < count ? partials[threadIdx.x] : 0);
  if (threadIdx.x == 0)
    *result = sum;
}

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

void dotInto(const Context& context, std::span<const double> a, std::span<const double> b, double* result)
{
  const int blocks =
      static_cast<int>(std::clamp<std::size_t>(ceilDiv(a.size(), dotBlockSize), 1, maxDotBlocks));
  const cudaStream_t stream = cudaStreamOf(context);
  if (blocks == 1) {
    dotPartials<<<1, dotThreads, 0, stream>>>(a.size(), a.data(), b.data(), result);
  } else {
    Buffer<double> partials(context, static_cast<std::size_t>(blocks));
    dotPartials<<<blocks, dotThreads, 0, stream>>>(a.size(), a.data(), b.data(), partials.span().data());
    sumPartials<<<1, maxDotBlocks, 0, stream>>>(blocks, partials.span().data(), result);
  }
  checkLaunch("dot product");
}

double dot(const Context& context, std::span<const double> a, std::span<const double> b)
{
  Buffer<double> result(context, 1);
  dotInto(context, a, b, result.span().data());
  return result.toHost(context).front();
}

std::array<double, 2> dots(const Context& context, std::span<const double> a, std::span<const double> b)
{
  Buffer<double> results(context, 2);
  if (a.size() <= dotBlockSize) { // the same result as two calls of dotInto, in one launch
    bothDots<<<2, dotThreads, 0, cudaStreamOf(context)>>>(a.size(), a.data(), b.data(),
                                                          results.span().data());
    checkLaunch("dot products");
  } else {
    dotInto(context, a, a, results.span().data());
    dotInto(context, a, b, results.span().data() + 1);
  }
  const std::vector<double> found = results.toHost(context);
  return {found[0], found[1]};
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
