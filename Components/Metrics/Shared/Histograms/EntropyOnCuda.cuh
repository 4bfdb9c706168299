#pragma once

#include "Components/Metrics/Shared/BlockSum.cuh"
#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"
#include "Components/Metrics/Shared/Histograms/ParzenWindows.h"
#include "Core/Compute/Cuda/Cuda.cuh"

namespace tessera {
namespace parzen {

// From the counts c of the joint histogram to the value and the table of slopes, for the terms of
// EntropyTerms.h:
//
//   p(f, m) = c(f, m) / n                                       c is the sum of ParzenWindows.h
//   p_f = sum_m p(f, m), p_m = sum_f p(f, m)                    marginals
//   S = sum_(f, m) terms.add(p(f, m), p_f, p_m)                 findWeights
//   value = S.value()
//   w(f, m) = d value / d p(f, m) = S.weight(...)               writeTable
//   table(f, m) = (w(f, m + 1) - w(f, m)) / (n * moving bin size)
//
// The difference of neighbouring columns is in the table because the derivative of a B-spline is the
// difference of two splines one order lower; order 0 has w itself. A histogram of few bins takes all steps in
// one block, since launches and the latency of a few dependent loads are most of the time: 64 x 64 bins are
// 32 KB of counts and 4 logarithms a thread.

constexpr int finishThreads = 1024;
constexpr unsigned finishBlocks = 64; // blocks of each step if there are more bins than one block handles
constexpr std::size_t maxBinsOfOneBlock = 16384;

template <class Terms>
struct EntropyArrays {
  const unsigned long long *counts, *valid;
  int rows, columns;
  double movingBinSize;
  bool differences; // whether the table holds differences of neighbouring columns' weights, or the weights

  double *fixed, *moving; // Terms::ofMarginal of each marginal probability
  double* weights;        // the results of Terms::add, one a bin
  Terms* sums;            // one sum a block
  float* table;
  MetricResult* result;

  __device__ unsigned bins() const { return static_cast<unsigned>(rows) * columns; }
  __device__ double perCount() const
  {
    return *valid == 0 ? 0 : 1 / (ParzenWindows::countScale * static_cast<double>(*valid));
  }
  __device__ double weight(const Terms& terms, unsigned bin, unsigned row, unsigned column) const
  {
    return terms.weight(weights[bin], fixed[row], moving[column]);
  }
};

/// Each warp sums a row. Columns are summed 32 at a time by a block whose warps share the rows. The sums are
/// integers, so their order does not matter.
template <class Terms>
__device__ void findMarginals(const EntropyArrays<Terms>& a)
{
  __shared__ unsigned long long ofWarps[32][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const double perCount = a.perCount();
  for (int row = blockIdx.x * warps + warp; row < a.rows; row += gridDim.x * warps) {
    unsigned long long sum = 0;
    for (int column = lane; column < a.columns; column += 32)
      sum += a.counts[static_cast<std::size_t>(row) * a.columns + column];
    for (int distance = 16; distance > 0; distance /= 2)
      sum += __shfl_xor_sync(0xffffffff, sum, distance);
    if (lane == 0)
      a.fixed[row] = Terms::ofMarginal(static_cast<double>(sum) * perCount);
  }
  for (int first = blockIdx.x * 32; first < a.columns; first += gridDim.x * 32) {
    const int column = first + lane;
    unsigned long long sum = 0;
    for (int row = warp; row < a.rows && column < a.columns; row += warps)
      sum += a.counts[static_cast<std::size_t>(row) * a.columns + column];
    ofWarps[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && column < a.columns) {
      for (int w = 1; w < warps; ++w)
        sum += ofWarps[w][lane];
      a.moving[column] = Terms::ofMarginal(static_cast<double>(sum) * perCount);
    }
    __syncthreads();
  }
}

template <class Terms>
__device__ void findWeights(const EntropyArrays<Terms>& a)
{
  const double perCount = a.perCount();
  Terms terms;
  for (unsigned bin = blockIdx.x * blockDim.x + threadIdx.x; bin < a.bins(); bin += gridDim.x * blockDim.x) {
    const unsigned row = bin / a.columns, column = bin - row * a.columns;
    a.weights[bin] = terms.add(static_cast<double>(a.counts[bin]) * perCount, a.fixed[row], a.moving[column]);
  }
  terms = sumOfBlock(terms);
  if (threadIdx.x == 0)
    a.sums[blockIdx.x] = terms;
}

template <class Terms>
__device__ void writeTable(const EntropyArrays<Terms>& a)
{
  Terms terms;
  for (unsigned block = 0; block < gridDim.x; ++block)
    terms.add(a.sums[block]);
  const double perSample = *a.valid == 0 ? 0 : 1 / (static_cast<double>(*a.valid) * a.movingBinSize);
  for (unsigned bin = blockIdx.x * blockDim.x + threadIdx.x; bin < a.bins(); bin += gridDim.x * blockDim.x) {
    const unsigned row = bin / a.columns, column = bin - row * a.columns;
    double entry = a.weight(terms, bin, row, column);
    if (a.differences)
      entry = column + 1 < a.columns ? a.weight(terms, bin + 1, row, column + 1) - entry : 0;
    a.table[bin] = static_cast<float>(entry * perSample);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0)
    *a.result = {terms.value(), *a.valid};
}

template <class Terms>
__global__ void __launch_bounds__(finishThreads) marginals(EntropyArrays<Terms> a)
{
  findMarginals(a);
}

template <class Terms>
__global__ void __launch_bounds__(finishThreads) weights(EntropyArrays<Terms> a)
{
  findWeights(a);
}

template <class Terms>
__global__ void __launch_bounds__(finishThreads) table(EntropyArrays<Terms> a)
{
  writeTable(a);
}

template <class Terms>
__global__ void __launch_bounds__(finishThreads) allOfFinish(EntropyArrays<Terms> a)
{
  findMarginals(a);
  __syncthreads();
  findWeights(a);
  __syncthreads();
  writeTable(a);
}

}

template <class Terms>
void EntropyOnCuda<Terms>::finish(Context& context, MetricResult* result)
{
  static_assert(parzen::finishBlocks == finishBlocks);
  const ParzenAxis& fixed = lookup_.windows.fixed;
  const ParzenAxis& moving = lookup_.windows.moving;
  double* const scratch = scratch_.span().data();
  double* const marginalsOfMoving = scratch + bins() + fixed.bins;
  const parzen::EntropyArrays<Terms> arrays{counts_.span().data(),
                                            counts_.span().data() + bins(),
                                            fixed.bins,
                                            moving.bins,
                                            moving.binSize,
                                            moving.order > 0,
                                            scratch + bins(),
                                            marginalsOfMoving,
                                            scratch,
                                            reinterpret_cast<Terms*>(marginalsOfMoving + moving.bins),
                                            table_.span().data(),
                                            result};
  const cudaStream_t stream = cudaStreamOf(context);
  if (bins() <= parzen::maxBinsOfOneBlock) {
    parzen::allOfFinish<<<1, parzen::finishThreads, 0, stream>>>(arrays);
  } else {
    parzen::marginals<<<parzen::finishBlocks, parzen::finishThreads, 0, stream>>>(arrays);
    parzen::weights<<<parzen::finishBlocks, parzen::finishThreads, 0, stream>>>(arrays);
    parzen::table<<<parzen::finishBlocks, parzen::finishThreads, 0, stream>>>(arrays);
  }
  checkLaunch("entropies of a histogram");
}

}
