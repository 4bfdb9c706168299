#pragma once

#include "Core/Compute/Cuda.cuh"
#include "Core/Registration/Samples/SampleKernels.h"

#include <algorithm>

namespace tessera {

// Sums of 64-bit fixed-point numbers do not depend on the order in which they are added up, so that they
// repeat.

/// Exponent of the scale by which sums of at most `most` in magnitude, partial ones too, fit in 62 bits.
__device__ inline int fixedPointExponent(double most)
{
  return most > 0 ? min(61 - ilogb(most), 1000) : 0;
}

/// `Bound` is on the device: bound.most() is what fixedPointExponent was given. Moves the sums into the
/// gradient and leaves zeros; 32 bytes a parameter. A bound that is not finite makes all NaN.
template <class Bound>
__global__ void moveFixedPointSums(std::size_t parameters, Bound bound, GradientUpdate update,
                                   unsigned long long* sums, double* gradient)
{
  const double most = bound.most();
  const double unit = isfinite(most) ? scalbn(1.0, -fixedPointExponent(most)) : NAN;
  const double factor = update.divisor == nullptr ? 1 : *update.divisor == 0 ? 0 : 1 / *update.divisor;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < parameters;
       i += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    const double before = update.overwrites ? 0 : gradient[i];
    gradient[i] = fma(static_cast<double>(static_cast<long long>(sums[i])), unit, before) * factor;
    sums[i] = 0;
  }
}

template <class Bound>
void addFixedPointSums(cudaStream_t stream, std::size_t parameters, const Bound& bound,
                       const GradientUpdate& update, unsigned long long* sums, double* gradient)
{
  constexpr int threads = 256;
  const auto blocks =
      static_cast<unsigned>(std::min<std::size_t>(ceilDiv<std::size_t>(parameters, threads), 4096));
  moveFixedPointSums<<<blocks, threads, 0, stream>>>(parameters, bound, update, sums, gradient);
  checkLaunch("sums of a gradient");
}

}
