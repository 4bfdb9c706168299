#pragma once

#include "Core/Registration/Terms/MetricOnCuda.h"

#include <memory>

namespace tessera {

/// A formula whose sums are a few doubles, in kernels: AdvancedMeanSquares or AdvancedNormalizedCorrelation.
template <class Formula>
std::unique_ptr<MetricOnCuda> sumsOnCuda(const Context&, const Formula&);

constexpr unsigned mostBlocksOfSums = 1056; // whatever the device, so that sums have one order

/// What it takes of the device: sums and a count of each block, and the table.
template <class Formula>
constexpr double sumsOnCudaBytes()
{
  return mostBlocksOfSums * (sizeof(typename Formula::Sums) + sizeof(double))
         + sizeof(typename Formula::Table);
}
}
