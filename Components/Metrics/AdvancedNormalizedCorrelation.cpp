#include "Components/Metrics/AdvancedNormalizedCorrelation.h"

#include "Components/Metrics/Shared/SumsOnCuda.h"
#include "Core/Registration/Terms/ImageTerm.h"

namespace tessera {
namespace {

const Parameter<bool> subtractMean =
    booleanParameter("SubtractMean", true, Arity::perLevel, "subtract the means of the intensities first");

}

AdvancedNormalizedCorrelation::AdvancedNormalizedCorrelation(const Parameters& parameters, std::size_t level,
                                                             const LevelFacts&)
    : subtractMean_(parameters.get(subtractMean, level))
{
}

const ComponentDescription& AdvancedNormalizedCorrelation::description()
{
  static const ComponentDescription description{"Metric", "AdvancedNormalizedCorrelation",
                                                "minus the correlation coefficient of the intensities (NCC)",
                                                joinedRows({{subtractMean}, imageTermParameters()})};
  return description;
}

std::unique_ptr<MetricOnCuda> AdvancedNormalizedCorrelation::onCuda(const Context& context) const
{
  return std::make_unique<SumsOnCuda<AdvancedNormalizedCorrelation>>(context, *this);
}

}
