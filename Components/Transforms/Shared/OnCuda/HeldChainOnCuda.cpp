#include "Components/Transforms/Shared/OnCuda/HeldChainOnCuda.h"

#include "Core/Compute/Error.h"

namespace tessera {

namespace {

template <int D>
void requireCudaForm(const TransformChain<D>& chain)
{
  if (const std::string why = whyNotInKernels(chain); !why.empty())
    throw Error(ExitCode::device, "CUDA: " + why + ": has no CUDA form. Allowed: (Device \"cpu\").");
}

}

template <int D>
HeldChainOnCuda<D>::HeldChainOnCuda(const Context& context, const TransformChain<D>& chain)
    : last_(chain.transform), combination_(chain.initial ? chain.combination : Combination::compose)
{
  requireCudaForm(chain);
  heldLast_ = kernelFormOf(*last_)->hold(context, {});
  if (chain.initial)
    append(context, *chain.initial);
}

template <int D>
HeldChainOnCuda<D> HeldChainOnCuda<D>::constant(const Context& context, const TransformChain<D>& chain)
{
  requireCudaForm(chain);
  HeldChainOnCuda held;
  held.append(context, chain);
  return held;
}

template <int D>
void HeldChainOnCuda<D>::append(const Context& context, const TransformChain<D>& chain)
{
  if (chain.initial)
    append(context, *chain.initial);
  TransformOnCuda<D>& link = before_.links[before_.count++];
  heldBefore_.push_back(kernelFormOf(*chain.transform)->hold(context, chain.parameters));
  link = heldBefore_.back()->at(context, {});
  link.combination = chain.initial ? chain.combination : Combination::compose;
}

template <int D>
ChainOnCuda<D> HeldChainOnCuda<D>::at(const Context& context, std::span<const double> parameters)
{
  ChainOnCuda<D> chain = before_;
  TransformOnCuda<D>& link = chain.links[chain.count++];
  link = heldLast_->at(context, parameters);
  link.combination = combination_;
  return chain;
}

TESSERA_INSTANTIATE_CLASS(HeldChainOnCuda);

}
