#pragma once

#include "Core/Sparse/Analysis/TotalsOnHost.h"

#include <cuda_runtime.h>

namespace tessera {

/// True in the last block of the grid that calls it; that block sees everything the others wrote before. All
/// threads of a block must call it.
inline __device__ bool isLastBlock(std::uint32_t* blocksDone)
{
  __shared__ bool isLast;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence(); // makes the writes of the whole block visible, which come before the barrier
    isLast = atomicAdd(blocksDone, 1u) + 1 == gridDim.x;
    __threadfence();
  }
  __syncthreads();
  return isLast;
}

/// Writes the totals to the host's memory; all threads of a block must call it.
inline __device__ void reportTotals(const TotalsTarget& target, const AnalysisTotals* totals,
                                    std::uint64_t entries)
{
  static_assert(sizeof(AnalysisTotals) % sizeof(std::uint32_t) == 0);
  volatile ReportedTotals* const host = target.host;
  auto* const to = reinterpret_cast<volatile std::uint32_t*>(&target.host->totals);
  const auto* const from = reinterpret_cast<const std::uint32_t*>(totals);
  for (unsigned i = threadIdx.x; i < sizeof(AnalysisTotals) / sizeof(std::uint32_t); i += blockDim.x)
    to[i] = __ldcg(from + i);
  if (threadIdx.x == 0)
    host->entries = entries;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0)
    host->turn = target.turn;
}

}
