#include "Core/Registration/Chain/HeldChainOnCuda.h"

#include "Core/Compute/Error.h"

namespace tessera {

template <int D>
std::string whyNotOnCuda(const TransformChain<D>& chain)
{
  int links = 0;
  for (const TransformChain<D>* link = &chain; link; link = link->initial.get(), ++links)
    if (!link->transform->cudaForm())
      return "the transform \"" + link->transform->name() + "\"";
  if (links > ChainOnCuda<D>::most)
    return "a chain of " + std::to_string(links) + " transforms (at most "
           + std::to_string(ChainOnCuda<D>::most) + ")";
  return "";
}

template <int D>
HeldChainOnCuda<D>::HeldChainOnCuda(const Context& context, const TransformChain<D>& chain)
    : last_(chain.transform), combination_(chain.initial ? chain.combination : Combination::compose)
{
  if (const std::string why = whyNotOnCuda(chain); !why.empty())
    throw Error(ExitCode::device, "CUDA: " + why + ": has no CUDA form. Allowed: (Device \"cpu\").");
  heldLast_ = last_->cudaForm()->hold(context, {});
  if (chain.initial)
    append(context, *chain.initial);
}

template <int D>
void HeldChainOnCuda<D>::append(const Context& context, const TransformChain<D>& chain)
{
  if (chain.initial)
    append(context, *chain.initial);
  TransformOnCuda<D>& link = before_.links[before_.count++];
  heldBefore_.push_back(chain.transform->cudaForm()->hold(context, chain.parameters));
  link = heldBefore_.back()->at(context, {});
  link.combination = chain.initial ? chain.combination : Combination::compose;
}

template <int D>
double HeldChainOnCuda<D>::deviceBytes(const TransformChain<D>& chain)
{
  double bytes = chain.transform->deviceBytes(false);
  for (const TransformChain<D>* link = chain.initial.get(); link; link = link->initial.get())
    bytes += link->transform->deviceBytes(true);
  return bytes;
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

template <int D>
Context vectorContext(const Context& context, const Transform<D>& last)
{
  if (context.onCuda() && last.linear())
    return {Device{}, context.threads};
  return context;
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template std::string whyNotOnCuda<D>(const TransformChain<D>&);                                            \
  template class HeldChainOnCuda<D>;                                                                         \
  template Context vectorContext<D>(const Context&, const Transform<D>&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
