#include "Core/Registration/Stage/DeviceSupport.h"

#include "Core/Registration/Chain/ChainPasses.h"

namespace tessera {

template <int D>
std::string whyStageNotOnCuda(const StageComponents<D>& components,
                              const std::shared_ptr<const TransformChain<D>>& initial)
{
  TransformChain<D> chain;
  chain.initial = initial;
  chain.transform = components.transform;
  std::string why = whyNotOnCuda<D>(chain);
  for (const auto& term : components.terms)
    if (why.empty())
      why = term->whyNotOnCuda(chain);
  return why.empty() ? why : why + " has no CUDA form";
}

template std::string whyStageNotOnCuda<2>(const StageComponents<2>&,
                                          const std::shared_ptr<const TransformChain<2>>&);
template std::string whyStageNotOnCuda<3>(const StageComponents<3>&,
                                          const std::shared_ptr<const TransformChain<3>>&);

}
