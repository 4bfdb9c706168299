#include "Core/Compute/Cuda.cuh"
#include "Core/Sparse/ProductAnalysisOnCuda.h"

#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

namespace tessera {
namespace {

template <class Sum>
struct Widen {
  __host__ __device__ Sum operator()(std::uint32_t count) const { return count; }
};

/// Reads 4 bytes and writes sizeof(Sum) a count.
template <class Sum>
void scan(const Context& context, std::size_t count, const std::uint32_t* counts, Sum* starts)
{
  const cudaStream_t stream = cudaStreamOf(context);
  const auto wide = thrust::make_transform_iterator(counts, Widen<Sum>());
  std::size_t bytes = 0;
  checkCuda(cub::DeviceScan::ExclusiveSum(nullptr, bytes, wide, starts, count + 1, stream), "sums of counts");
  Buffer<unsigned char> memory(context, bytes + 1);
  checkCuda(cub::DeviceScan::ExclusiveSum(memory.span().data(), bytes, wide, starts, count + 1, stream), "sums of counts");
}

}

void scanOnCuda(const Context& context, std::size_t count, const std::uint32_t* counts, std::uint64_t* starts)
{
  scan(context, count, counts, starts);
}
void scanOnCuda(const Context& context, std::size_t count, const std::uint32_t* counts, std::uint32_t* starts)
{
  scan(context, count, counts, starts);
}

}
