#pragma once

#include "Components/Metrics/Shared/EntropyTerms.h"
#include "Components/Metrics/Shared/HistogramMemory.h"
#include "Components/Metrics/Shared/ParzenHistogram.h"
#include "Core/Compute/Cuda/CudaOnly.h"

namespace tessera {

/// A metric of the entropies of a joint histogram that Terms (EntropyTerms.h) add up. A component derives
/// from it, and has its name, its parameters and its kernels.
template <class Terms>
class EntropyMetric : public ParzenHistogram {
public:
  using ParzenHistogram::ParzenHistogram;

  Table finish(const Sums& sums, std::size_t valid) const
  {
    return ParzenHistogram::finish<Terms>(sums, valid);
  }
  double value(const Table& table) const { return table.value; }
  double deviceBytes(std::size_t samples, bool fixedStays) const
  {
    return HistogramMemory(windows()).bytes(samples, fixedStays);
  }
};

}
