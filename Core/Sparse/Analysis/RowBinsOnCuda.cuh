#pragma once

#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"

#include <cuda_runtime.h>

namespace tessera {

/// Matrices of at most so many rows use fewer bins.
constexpr std::size_t fewRowsOnCuda = 1 << 16;

/// The bin of a row with so many products, at least one. Matrices of few rows have fewer bins, because
/// launching a kernel for one more bin takes longer than treating its rows as longer ones.
inline __device__ int binOf(std::size_t rows, std::uint32_t products)
{
  const int bin = min(max(static_cast<int>(sorted8), sorted8 + 29 - __clz(static_cast<int>(products - 1))),
                      static_cast<int>(staged8192));
  if (rows > fewRowsOnCuda)
    return bin;
  return bin <= sorted16     ? sorted16
         : bin <= sorted64   ? sorted64
         : bin == sorted256  ? sorted512
         : bin == staged1024 ? staged2048
                             : bin;
}
static_assert(staged8192 == sorted8 + 10);

/// The bin of a row whose entries are counted, or 0 if they are not counted yet.
inline __device__ int binOf(std::size_t rows, std::uint32_t products, std::uint32_t entries)
{
  if (isForWarp(products, entries))
    return warp512;
  return products <= maxStagedProducts    ? binOf(rows, products)
         : entries > 0 && entries <= 8192 ? long8192
                                          : anyLong;
}

/// Appends the rows of this block to the lists of their bins; a thread without a row has bin -1. All threads
/// of the block must call it.
inline __device__ void addToBins(int bin, std::size_t row, std::size_t rows, RowBinCounts& counts,
                                 std::uint32_t* binnedRows)
{
  __shared__ std::uint32_t own[rowBins], base[rowBins];
  if (threadIdx.x < rowBins)
    own[threadIdx.x] = 0;
  __syncthreads();
  const std::uint32_t at = bin >= 0 ? atomicAdd(&own[bin], 1u) : 0;
  __syncthreads();
  if (threadIdx.x < rowBins && own[threadIdx.x] > 0)
    base[threadIdx.x] = atomicAdd(&counts.of[threadIdx.x], own[threadIdx.x]);
  __syncthreads();
  if (bin >= 0)
    binnedRows[bin * rows + base[bin] + at] = static_cast<std::uint32_t>(row);
}

}
