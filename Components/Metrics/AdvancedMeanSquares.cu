#include "Components/Metrics/AdvancedMeanSquares.h"

#include "Components/Metrics/Shared/SumsOnCuda.cuh"

namespace tessera {

std::unique_ptr<MetricOnCuda> AdvancedMeanSquares::onCuda(const Context& context) const
{
  return std::make_unique<SumsOnCuda<AdvancedMeanSquares>>(context, *this);
}

}
