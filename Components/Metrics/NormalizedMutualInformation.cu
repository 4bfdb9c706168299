#include "Components/Metrics/NormalizedMutualInformation.h"

#include "Components/Metrics/Shared/EntropyOnCuda.cuh"

namespace tessera {

std::unique_ptr<MetricOnCuda> NormalizedMutualInformation::onCuda(const Context& context) const
{
  return std::make_unique<EntropyOnCuda<NormalizedTerms>>(context, windows());
}

}
