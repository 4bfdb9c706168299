#include "Components/Transforms/Shared/OnCuda/KernelForm.h"

#include "Components/Transforms/Shared/OnCuda/HeldChainOnCuda.h"
#include "Components/Transforms/Shared/OnCuda/ParameterPullBack.h"
#include "Core/Compute/Memory/MemoryCount.h"

namespace tessera {
namespace {

template <int D>
class KernelPasses final : public ChainPasses<D> {
public:
  KernelPasses(const Context& context, const TransformChain<D>& chain)
      : last_(chain.transform), held_(context, chain)
  {
  }

  void reserve(const Context& context, std::size_t samples, bool withGradient) override
  {
    if (!withGradient)
      return;
    const MemoryPart part(context, "pull-back");
    if (last_->linear())
      grown(context, momentScratch_, momentScratch<D>());
    else
      pullBack_.reserve(context, kernelFormOf(*last_)->kind(), last_->parameterCount(), samples);
  }
  void moveTo(const Context& context, std::span<const double> parameters) override
  {
    chain_ = held_.at(context, parameters);
  }
  void gather(Context& context, const SamplesOnCuda<D>& samples, const MovingOnCuda<D>& moving,
              const GatherTarget<D>& target) override
  {
    gatherOnCuda<D>(context, samples, chain_, moving, target);
  }
  void map(Context& context, const SamplesOnCuda<D>& samples, double* mappedMm) override
  {
    mapSamplesOnCuda<D>(context, samples, chain_, {mappedMm});
  }
  void addDisplacementsBefore(Context& context, const SamplesOnCuda<D>& samples,
                              const std::array<float*, D>& field) override
  {
    addDisplacementsOnCuda<D>(context, samples, held_.before(), field);
  }
  void addDisplacements(Context& context, const SamplesOnCuda<D>& samples,
                        const std::array<float*, D>& field) override
  {
    addDisplacementsOnCuda<D>(context, samples, chain_, field);
  }
  void addMoments(Context& context, const SamplesOnCuda<D>& samples,
                  const std::array<const float*, D>& covectors, const float* factors,
                  CovectorMoments<D>* moments) override
  {
    reserve(context, samples.count, true);
    momentsOnCuda<D>(context, samples, chain_, covectors, factors, momentScratch_.span().data(), moments);
  }
  void pullBack(Context& context, const SamplesOnCuda<D>& samples,
                const std::array<const float*, D>& covectors, const float* factors,
                std::span<double> gradient, const GradientUpdate& update) override
  {
    pullBack_.add(context, samples, chain_, covectors, factors, gradient, update);
  }

private:
  std::shared_ptr<const Transform<D>> last_;
  HeldChainOnCuda<D> held_;
  ChainOnCuda<D> chain_;
  Buffer<double> momentScratch_;
  ParameterPullBack<D> pullBack_;
};

}

template <int D>
std::string whyTooLongForKernels(const TransformChain<D>& chain)
{
  int links = 0;
  for (const TransformChain<D>* link = &chain; link; link = link->initial.get())
    ++links;
  if (links <= ChainOnCuda<D>::maxLinks)
    return "";
  return "a chain of " + std::to_string(links) + " transforms (at most "
         + std::to_string(ChainOnCuda<D>::maxLinks) + ")";
}

template <int D>
std::string whyNotInKernels(const TransformChain<D>& chain)
{
  for (const TransformChain<D>* link = &chain; link; link = link->initial.get())
    if (!kernelFormOf(*link->transform))
      return "the transform \"" + link->transform->name() + "\"";
  return whyTooLongForKernels(chain);
}

template <int D>
std::unique_ptr<ChainPasses<D>> KernelForm<D>::passes(const Context& context,
                                                      const TransformChain<D>& chain) const
{
  return std::make_unique<KernelPasses<D>>(context, chain);
}

TESSERA_INSTANTIATE_FUNCTIONS(whyNotInKernels<D>);
TESSERA_INSTANTIATE_FUNCTIONS_TO_4(whyTooLongForKernels<D>);
TESSERA_INSTANTIATE_CLASS(KernelForm);

}
