#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Registration/Samples/SampleKernels.h"

#include <algorithm>

namespace tessera {

// Sums of 64-bit fixed-point numbers do not depend on the order of summation, so threads may add in any order
// and results still repeat.

/// The exponent of a scale by which all sums, complete and partial, fit in 62 bits if their absolute value is
/// at most `maxSum`.
__device__ inline int fixedPointExponent(double maxSum)
{
  return maxSum > 0 ? min(61 - ilogb(maxSum), 1000) : 0;
}

/// Adds the sums to the gradient and sets them to zero; 32 bytes a parameter. bound.maxSum() is the bound
/// that fixedPointExponent was given; it is read on the device. If it is not finite, the gradient becomes
/// NaN.
template <class Bound>
__global__ void moveFixedPointSums(std::size_t parameters, Bound bound, GradientUpdate update,
                                   unsigned long long* sums, double* gradient)
{
  const double maxSum = bound.maxSum();
  const double unit = isfinite(maxSum) ? scalbn(1.0, -fixedPointExponent(maxSum)) : NAN;
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
