#pragma once

#include "Components/Transforms/Shared/OnCuda/CombinationOnCuda.h"
#include "Components/Transforms/Shared/OnCuda/HeldChainOnCuda.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Registration/Chain/ChainPasses.h"

#include <vector>

namespace tessera {

template <int D>
class WeightedCombinationTransform;

/// A chain that ends in a weighted combination, in the memory of a CUDA device.
template <int D>
class HeldCombination {
public:
  /// Copies everything but the weights. Throws Error(device) if a transform has no CUDA form.
  HeldCombination(const Context&, const TransformChain<D>&, const WeightedCombinationTransform<D>&);

  int count() const { return onCuda_.count; } // transforms that are combined
  /// `weights` lie on the device. If they are normalized, it waits for them. Throws the error of
  /// WeightedCombinationTransform::divisor.
  CombinationOnCuda<D> at(const Context&, std::span<const double> weights);

private:
  const WeightedCombinationTransform<D>* transform_; // kept by the chain
  std::vector<HeldChainOnCuda<D>> held_;
  Buffer<ChainOnCuda<D>> transforms_;
  CombinationOnCuda<D> onCuda_;
};

/// The passes through a chain that ends in a weighted combination. A pass first writes the mapped points, 8 D
/// bytes a sample, from which it goes on as from a list of points.
template <int D>
class CombinationPasses final : public ChainPasses<D> {
public:
  CombinationPasses(const Context& context, const TransformChain<D>& chain,
                    const WeightedCombinationTransform<D>& transform)
      : held_(context, chain, transform)
  {
  }

  void moveTo(const Context& context, std::span<const double> parameters) override
  {
    chain_ = held_.at(context, parameters);
  }
  void reserve(const Context&, std::size_t samples, bool withGradient) override;
  void gather(Context&, const SamplesOnCuda<D>&, const MovingOnCuda<D>&, const GatherTarget<D>&) override;
  void map(Context& context, const SamplesOnCuda<D>& samples, double* mappedMm) override
  {
    mapCombinationOnCuda<D>(context, samples, chain_, {mappedMm});
  }
  void addDisplacements(Context& context, const SamplesOnCuda<D>& samples,
                        const std::array<float*, D>& field) override
  {
    mapCombinationOnCuda<D>(context, samples, chain_, {nullptr, field, nullptr, nullptr});
  }
  void pullBack(Context&, const SamplesOnCuda<D>&, const std::array<const float*, D>& covectors,
                const float* factors, std::span<double> gradient, const GradientUpdate&) override;

private:
  HeldCombination<D> held_;
  CombinationOnCuda<D> chain_;
  Buffer<double> points_, covectors_, scratch_, sums_;
};

}
