#include "Components/Metrics/AdvancedMattesMutualInformation.h"

#include "Core/Registration/Terms/ImageTerm.h"

namespace tessera {
namespace {

const Parameter<bool> useFastAndLowMemoryVersion =
    booleanParameter("UseFastAndLowMemoryVersion", true, Arity::perLevel,
                     "accepted without effect: the only version is fast and takes little memory");

const Parameter<bool> finiteDifferenceDerivative = booleanParameter(
    "FiniteDifferenceDerivative", false, Arity::perLevel, "only \"false\": the gradient is exact");

const Parameter<bool> useJacobianPreconditioning =
    booleanParameter("UseJacobianPreconditioning", false, Arity::perLevel, "only \"false\"");

void refuse(const Parameters& parameters, const Parameter<bool>& mode, std::size_t level)
{
  if (parameters.get(mode, level))
    parameters.fail(mode.name, "not available", "Allowed: \"false\"");
}

}

AdvancedMattesMutualInformation::AdvancedMattesMutualInformation(const Parameters& parameters,
                                                                 std::size_t level, const LevelFacts& facts)
    : EntropyMetric(parameters, level, facts)
{
  refuse(parameters, finiteDifferenceDerivative, level);
  refuse(parameters, useJacobianPreconditioning, level);
}

const ComponentDescription& AdvancedMattesMutualInformation::description()
{
  static const ComponentDescription description{
      "Metric",
      "AdvancedMattesMutualInformation",
      "minus the mutual information (MI), from a Parzen-window histogram (Mattes et al. 2003)",
      joinedRows({ParzenHistogram::parameters(),
                  {useFastAndLowMemoryVersion, finiteDifferenceDerivative, useJacobianPreconditioning},
                  imageTermParameters()}),
      {"MattesMutualInformation"}};
  return description;
}

}
