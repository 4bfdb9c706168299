#include "Components/Metrics/NormalizedMutualInformation.h"

#include "Components/Metrics/Shared/EntropyOnCuda.cuh"
#include "Components/Metrics/Shared/EntropyTerms.h"

namespace tessera {

std::unique_ptr<MetricOnCuda> NormalizedMutualInformation::onCuda(const Context& context) const
{
  return std::make_unique<EntropyOnCuda<NormalizedTerms>>(context, histogram_.windows());
}

}
