#include "Core/Registration/Chain/ChainPasses.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/MemoryCount.h"

namespace tessera {

template <int D>
std::string whyNotOnCuda(const TransformChain<D>& chain)
{
  const CudaForm<D>* form = chain.transform->cudaForm();
  return form ? form->whyNot(chain) : "the transform \"" + chain.transform->name() + "\"";
}

template <int D>
std::string whyNotResampledOnCuda(const TransformChain<D>& chain)
{
  const CudaForm<D>* form = chain.transform->cudaForm();
  return form && !form->resamples() ? "the transform \"" + chain.transform->name() + "\""
                                    : whyNotOnCuda(chain);
}

template <int D>
std::string whyNotInOtherKernels(const TransformChain<D>& chain)
{
  const CudaForm<D>* form = chain.transform->cudaForm();
  return form && form->otherKernels() ? form->whyNot(chain)
                                      : "the transform \"" + chain.transform->name() + "\"";
}

template <int D>
std::unique_ptr<ChainPasses<D>> passesOnCuda(const Context& context, const TransformChain<D>& chain)
{
  if (const std::string why = whyNotOnCuda(chain); !why.empty())
    throw Error(ExitCode::device, "CUDA: " + why + ": has no CUDA form. Allowed: (Device \"cpu\").");
  const MemoryPart part(context, "transform");
  return chain.transform->cudaForm()->passes(context, chain);
}

template <int D>
std::optional<AffineMap<D>> asLinearMap(const TransformChain<D>* chain, std::span<const double> parameters)
{
  if (!chain)
    return AffineMap<D>{};
  const LinearForm<D>* linear = chain->transform->linear();
  if (!linear)
    return std::nullopt;
  const AffineMap<D> last = linear->pointMap(parameters);
  const TransformChain<D>* initial = chain->initial.get();
  if (!initial)
    return last;
  std::optional<AffineMap<D>> folded = asLinearMap(initial, std::span<const double>(initial->parameters));
  if (!folded)
    return folded;
  if (chain->combination == Combination::compose)
    return compose(last, *folded);
  for (int d = 0; d < D; ++d) {
    folded->offset[d] += last.offset[d];
    for (int e = 0; e < D; ++e)
      folded->matrix[d][e] += last.matrix[d][e] - (d == e ? 1 : 0);
  }
  return folded;
}

template <int D>
Context vectorContext(const Context& context, const Transform<D>& last)
{
  if (context.onCuda() && last.linear())
    return context.onCpu();
  return context;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(whyNotOnCuda<D>, whyNotResampledOnCuda<D>, whyNotInOtherKernels<D>,
                                   passesOnCuda<D>, asLinearMap<D>, vectorContext<D>);

}
