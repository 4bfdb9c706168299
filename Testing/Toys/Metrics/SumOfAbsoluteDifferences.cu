#include "Testing/Toys/Metrics/SumOfAbsoluteDifferences.h"

#include "Components/Metrics/Shared/SumsOnCuda.cuh"

namespace tessera {

std::unique_ptr<MetricOnCuda> SumOfAbsoluteDifferences::onCuda(const Context& context) const
{
  return std::make_unique<SumsOnCuda<SumOfAbsoluteDifferences>>(context, *this);
}

}
