#include "Core/Sparse/Numbers/NumberChecksOnCuda.h"

#include "Core/Compute/Cuda/Cuda.cuh"

#include <algorithm>

namespace tessera {
namespace {

constexpr unsigned checkThreads = 256, maxCheckBlocks = 2112;

/// Sets *notFinite if a number is infinite or not a number. Memory traffic: reads sizeof(V) bytes for each
/// number.
template <class V>
__global__ void __launch_bounds__(checkThreads)
    findNotFinite(const V* numbers, std::uint64_t count, std::uint32_t* notFinite)
{
  bool all = true; // the result is written behind the loop, so that loads overlap
#pragma unroll 4
  for (std::uint64_t i = blockIdx.x * std::uint64_t{checkThreads} + threadIdx.x; i < count;
       i += gridDim.x * std::uint64_t{checkThreads})
    all &= isfinite(numbers[i]) != 0;
  if (!all)
    *notFinite = 1;
}

}

template <class V>
void findNotFiniteOnCuda(const Context& context, const V* numbers, std::uint64_t count,
                         std::uint32_t* notFinite)
{
  const auto blocks = static_cast<unsigned>(
      std::min<std::uint64_t>(ceilDiv<std::uint64_t>(count, checkThreads), maxCheckBlocks));
  if (blocks > 0)
    findNotFinite<V><<<blocks, checkThreads, 0, cudaStreamOf(context)>>>(numbers, count, notFinite);
  checkLaunch("whether numbers are finite");
}

template void findNotFiniteOnCuda(const Context&, const float*, std::uint64_t, std::uint32_t*);
template void findNotFiniteOnCuda(const Context&, const double*, std::uint64_t, std::uint32_t*);

}
