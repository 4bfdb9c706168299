#include "Core/Registration/Samples/SampleKernels.cuh"

namespace tessera {
namespace {

template <int D>
__global__ void maskLattice(const __grid_constant__ SamplesOnCuda<D> samples,
                            const __grid_constant__ MaskOnCuda<D> mask, std::uint8_t* asked)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (i < samples.count)
    asked[i] = mask.contains(sampleAt(samples, i).pointMm);
}

}

template <int D>
void maskLatticeOnCuda(const Context& context, const SamplesOnCuda<D>& samples, const MaskOnCuda<D>& mask,
                       std::uint8_t* asked)
{
  constexpr int threads = 256;
  if (samples.count == 0)
    return;
  maskLattice<D><<<static_cast<unsigned>(ceilDiv<std::size_t>(samples.count, threads)), threads, 0,
                   cudaStreamOf(context)>>>(samples, mask, asked);
  checkLaunch("mask of a lattice");
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(maskLatticeOnCuda<D>);

}
