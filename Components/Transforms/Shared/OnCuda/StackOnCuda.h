#pragma once

#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Core/Registration/StackOfTransforms.h"

namespace tessera {

/// A stack in the form that kernels take: a transform of slices, with parameters of its own for each time.
template <int D>
struct StackOnCuda {
  TransformOnCuda<D - 1> slice; // that of the first time
  std::size_t each = 0;         // number of parameters of a time
  TimesOfStack times;
  // Slices that are linear: their maps, one a time, and, if they can be pulled back to, d map / d parameter,
  // the matrix about the centre, one a parameter.
  const AffineMap<D - 1>* maps = nullptr;
  const AffineMap<D - 1>* derivatives = nullptr;

  TESSERA_HOST_DEVICE int timeOf(const Vec<D>& pointMm) const
  {
    return nearestTimeOf(times.count, (pointMm[D - 1] - times.origin) / times.spacing);
  }
  TESSERA_HOST_DEVICE TransformOnCuda<D - 1> at(int time) const
  {
    TransformOnCuda<D - 1> transform = slice;
    if (maps != nullptr)
      transform.map = maps[time];
    else
      transform.coefficients += time * each;
    return transform;
  }
};

/// A chain of stacks, first to last.
template <int D>
struct StackChainOnCuda {
  int count = 0;
  StackOnCuda<D> links[ChainOnCuda<D - 1>::maxLinks];
};

template <int D>
TESSERA_CUDA_ONLY void mapStacksOnCuda(Context&, const SamplesOnCuda<D>&, const StackChainOnCuda<D>&,
                                       const MappedTarget<D>&);

/// The moments of covectors are summed up by so many blocks for each time.
constexpr std::size_t momentBlocksOfTime = 32;

/// ChainPasses::pullBack for a stack of linear transforms. `scratch` holds (D - 1) D doubles for each block
/// of each time.
template <int D>
TESSERA_CUDA_ONLY void
pullBackLinearStackOnCuda(Context&, const SamplesOnCuda<D>&, const StackChainOnCuda<D>&,
                          const std::array<const float*, D>& covectors, const float* factors, double* scratch,
                          double* gradient, const GradientUpdate&);

/// ChainPasses::pullBack for a stack of B-splines; `sums` and `largest` as for pullBackBSplineOnCuda.
template <int D>
TESSERA_CUDA_ONLY void pullBackBSplineStackOnCuda(Context&, const SamplesOnCuda<D>&,
                                                  const StackChainOnCuda<D>&,
                                                  const std::array<const float*, D>& covectors,
                                                  const float* factors, unsigned long long* sums,
                                                  unsigned* largest, double* gradient, const GradientUpdate&);

}
