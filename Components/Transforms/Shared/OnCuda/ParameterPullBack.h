#pragma once

#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Core/Compute/Memory/Buffer.h"

namespace tessera {

/// ChainPasses::pullBack. The memory that it takes is kept for the next call.
template <int D>
class ParameterPullBack {
public:
  void add(Context& context, const SamplesOnCuda<D>& samples, const ChainOnCuda<D>& chain,
           const std::array<const float*, D>& covectors, const float* factors, std::span<double> gradient,
           const GradientUpdate& update)
  {
    const TransformKind last = chain.links[chain.count - 1].kind;
    reserve(context, last, gradient.size(), samples.count);
    if (last == TransformKind::kernelSpline)
      return addSpline(context, samples, chain, covectors, factors, gradient, update);
    pullBackBSplineOnCuda<D>(context, samples, chain, covectors, factors, fixedPoint_.span().data(),
                             largest_.span().data(), gradient.data(), update);
  }

  /// Takes the memory that `add` needs for this number of parameters and samples. `add` takes it if this
  /// was not called.
  void reserve(const Context&, TransformKind last, std::size_t parameters, std::size_t samples);

private:
  void addSpline(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,
                 const std::array<const float*, D>& covectors, const float* factors,
                 std::span<double> gradient, const GradientUpdate&);

  Buffer<unsigned long long> fixedPoint_; // zeros between calls
  Buffer<unsigned> largest_;
  Buffer<double> samples_, scratch_, sums_;
};

}
