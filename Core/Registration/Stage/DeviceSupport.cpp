#include "Core/Registration/Stage/DeviceSupport.h"

#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/TermOfSeries.h"

#include <algorithm>

namespace tessera {

template <int D>
std::string whyStageNotOnCuda(const PreparedStage<D>& stage, const ChainPointer<D>& initial)
{
  const StageComponents<D>& components = stage.components;
  TransformChain<D> chain{.initial = initial, .transform = components.transform};
  std::string why = whyNotOnCuda<D>(chain);
  for (std::size_t t = 0; t < components.terms.size() && why.empty(); ++t) {
    const CostTerm<D>& term = *components.terms[t];
    why = term.whyNotOnCuda();
    if (why.empty() && !term.needsPassesAlone() && !chain.transform->cudaForm()->otherKernels())
      why = "the metric \"" + componentNames(stage.parameters, "Metric")[t] + "\" with the transform \""
            + chain.transform->name() + "\"";
  }
  const bool areOfSeries = std::ranges::all_of(components.terms, [](const auto& term) {
    return dynamic_cast<const TermOfSeries<D>*>(term.get()) != nullptr;
  });
  for (std::size_t t = 0; t < components.interpolators.size() && why.empty(); ++t)
    if (!components.interpolators[t]->onCuda()
        && !(areOfSeries && components.interpolators[t]->slicedSeriesOnCuda()))
      why = "the interpolator \""
            + componentNames(stage.parameters, "Interpolator")[components.interpolatorOfImage[t]] + "\"";
  return why.empty() ? why : why + " has no CUDA form";
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(whyStageNotOnCuda<D>);

}
