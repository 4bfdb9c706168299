#include "Components/Transforms/Shared/BendingEnergyPass.h"
#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Cuda/Reduction.cuh"

#include <algorithm>

namespace tessera {
namespace {

constexpr int threads = 256;

/// Reads 8 bytes a value or, with Before = 3, 24, each seven times and all but once from the caches; writes
/// 24.
template <int Before>
__global__ void __launch_bounds__(threads) contractAxis(BendingPass pass, const double* before, double* to)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(threads) + threadIdx.x;
  if (i >= pass.count)
    return;
  double sums[3];
  pass.contract<Before>(before, i, sums);
#pragma unroll
  for (int p = 0; p < 3; ++p)
    to[p * pass.count + i] = sums[p];
}

/// The energy c . E_2 and, unless null, its gradient 2 E_2. Reads 32 bytes a value and writes 8.
__global__ void __launch_bounds__(threads)
    contractLastAxis(BendingPass pass, const double* before, const double* coefficients, double* gradient,
                     double* partials, unsigned* blocksDone, double* energy)
{
  double own[1] = {};
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(threads) + threadIdx.x; i < pass.count;
       i += static_cast<std::size_t>(gridDim.x) * threads) {
    double sums[3];
    pass.contract<3>(before, i, sums);
    own[0] += coefficients[i] * sums[2];
    if (gradient != nullptr)
      gradient[i] = 2 * sums[2];
  }
  addGridSums(own, partials, blocksDone, energy);
}

}

template <int D>
void ExactBendingEnergy<D>::evaluateOnCuda(Context& context, std::span<const double> coefficients,
                                           std::span<double> gradient, double* valueOnDevice)
{
  constexpr std::size_t maxBlocks = maxWarps / (threads / 32);
  const cudaStream_t stream = cudaStreamOf(context);
  reserve(context);
  const std::size_t count = D * pointCount_, all = ceilDiv<std::size_t>(count, threads);
  const auto blocks = static_cast<unsigned>(all),
             blocksOfSum = static_cast<unsigned>(std::min(all, maxBlocks));
  BendingPass pass{bandsOnCuda_.span().data(), 0, 1, count};
  const double* before = coefficients.data();
  double* to = ordersOnCuda_.span().data();
  context.stream->fill(valueOnDevice, 0, sizeof *valueOnDevice);
  for (int d = 0; d < D; ++d) {
    pass.points = static_cast<std::size_t>(bands_[d].points);
    if (d == D - 1)
      contractLastAxis<<<blocksOfSum, threads, 0, stream>>>(
          pass, before, coefficients.data(), gradient.empty() ? nullptr : gradient.data(),
          sumsOnCuda_.span().data(), blocksDone_.span().data(), valueOnDevice);
    else if (d == 0)
      contractAxis<1><<<blocks, threads, 0, stream>>>(pass, before, to);
    else
      contractAxis<3><<<blocks, threads, 0, stream>>>(pass, before, to);
    checkLaunch("exact bending energy");
    pass.bands += bands_[d].values.size();
    pass.stride *= pass.points;
    before = to;
    to += 3 * count;
  }
}

template void ExactBendingEnergy<2>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>,
                                                    double*);
template void ExactBendingEnergy<3>::evaluateOnCuda(Context&, std::span<const double>, std::span<double>,
                                                    double*);

}
