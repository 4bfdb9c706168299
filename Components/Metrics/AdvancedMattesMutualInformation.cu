#include "Components/Metrics/AdvancedMattesMutualInformation.h"

#include "Components/Metrics/Shared/EntropyOnCuda.cuh"
#include "Components/Metrics/Shared/EntropyTerms.h"

namespace tessera {

std::unique_ptr<MetricOnCuda> AdvancedMattesMutualInformation::onCuda(const Context& context) const
{
  return std::make_unique<EntropyOnCuda<MutualInformationTerms>>(context, histogram_.windows());
}

}
