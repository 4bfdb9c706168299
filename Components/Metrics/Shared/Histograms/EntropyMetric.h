#pragma once

#include "Components/Metrics/Shared/Histograms/EntropyTerms.h"
#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"
#include "Components/Metrics/Shared/Histograms/ParzenHistogram.h"

namespace tessera {

/// A metric of the entropies of a joint histogram that Terms (EntropyTerms.h) add up. A component derives
/// from it, and has its name and its parameters; its .cu file includes EntropyOnCuda.cuh and instantiates
/// EntropyOnCuda<Terms>.
template <class Terms>
class EntropyMetric : public ParzenHistogram {
public:
  using ParzenHistogram::ParzenHistogram;

  Table finish(const Sums& sums, std::size_t valid) const
  {
    return ParzenHistogram::finish<Terms>(sums, valid);
  }
  double value(const Table& table) const { return table.value; }
  std::unique_ptr<MetricOnCuda> onCuda(const Context& context) const
  {
    return std::make_unique<EntropyOnCuda<Terms>>(context, windows());
  }
};

}
