#include "Components/Metrics/AdvancedMattesMutualInformation.h"

#include "Components/Metrics/Shared/EntropyOnCuda.cuh"

namespace tessera {

std::unique_ptr<MetricOnCuda> AdvancedMattesMutualInformation::onCuda(const Context& context) const
{
  return std::make_unique<EntropyOnCuda<MutualInformationTerms>>(context, windows());
}

}
