#include "Components/Metrics/AdvancedNormalizedCorrelation.h"

#include "Components/Metrics/Shared/SumsOnCuda.cuh"

namespace tessera {

std::unique_ptr<MetricOnCuda> AdvancedNormalizedCorrelation::onCuda(const Context& context) const
{
  return std::make_unique<SumsOnCuda<AdvancedNormalizedCorrelation>>(context, *this);
}

}
