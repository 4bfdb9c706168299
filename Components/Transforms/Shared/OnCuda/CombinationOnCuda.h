#pragma once

#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Core/Compute/Cuda/LoadConstant.h"

#include <cstddef>

// Chains that end in a weighted combination, on a CUDA device:
//
//   T(x) = T0(x) + sum_i w_i u_i / n, u_i = T_i(y) - y, n = 1 or sum_i w_i
//
// where y is T0(x) if the combination is composed with the transforms T0 before it, and x if it is added to
// them. A pull-back sums up s_i = sum over samples of v . u_i alone, because the gradient is
//
//   sum over samples of v . dT/dw_i = (s_i - m) / n, m = 0 if n = 1, else sum_j w_j s_j / n.
namespace tessera {

/// A chain that ends in a weighted combination, in the form that kernels take; all pointers are to device
/// memory.
template <int D>
struct CombinationOnCuda {
  ChainOnCuda<D> before; // T0
  Combination combination = Combination::compose;
  const ChainOnCuda<D>* transforms = nullptr; // T_i
  int count = 0;
  const double* weights = nullptr;
  double weightSum = 0; // n; 0: the weights are not normalized, and n is 1

  TESSERA_HOST_DEVICE double share(int i) const
  {
    const double weight = loadConstant(weights + i);
    return weightSum == 0 ? weight : weight / weightSum;
  }
};

/// Evaluates each of the transforms once a sample.
template <int D>
TESSERA_CUDA_ONLY void mapCombinationOnCuda(Context&, const SamplesOnCuda<D>&, const CombinationOnCuda<D>&,
                                            const MappedTarget<D>&);

constexpr std::size_t maxCombinationBlocks = 512;
/// The number of doubles of scratch memory for the sums of so many transforms.
constexpr std::size_t combinationScratch(std::size_t transforms)
{
  return maxCombinationBlocks * transforms;
}

/// Adds (`overwrites`: assigns) the s_i over samples to `sums`. Both arrays are planar with `count` doubles:
/// D of points y (NaN: the sample does not count), and D of covectors v. Each sum has a fixed order. For each
/// transform it reads 16 D bytes a sample and evaluates the transform once.
template <int D>
TESSERA_CUDA_ONLY void sumCombinationOnCuda(Context&, const CombinationOnCuda<D>&, std::size_t count,
                                            const double* points, const double* covectors, double* scratch,
                                            double* sums, bool overwrites);

/// gradient += what the sums are for the weights.
template <int D>
TESSERA_CUDA_ONLY void combinationGradientOnCuda(Context&, const CombinationOnCuda<D>&, const double* sums,
                                                 double* gradient, const GradientUpdate&);

}
