#pragma once

#include "Core/Sparse/Analysis/TotalsOnHost.h"

#include <cuda_runtime.h>

namespace tessera {

/// Whether this is the last block that calls it; then it sees what all others did before. Every thread calls
/// it.
inline __device__ bool isLastBlock(std::uint32_t* blocksDone)
{
  __shared__ bool isLast;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence(); // what the block did comes before, since the barrier does
    isLast = atomicAdd(blocksDone, 1u) + 1 == gridDim.x;
    __threadfence();
  }
  __syncthreads();
  return isLast;
}

/// Tells the host, by a block.
inline __device__ void tell(const TotalsTarget& target, const AnalysisTotals* totals, std::uint64_t entries)
{
  static_assert(sizeof(AnalysisTotals) % sizeof(std::uint32_t) == 0);
  volatile ToldTotals* const host = target.host;
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
