#pragma once

#include "Core/Registration/Reporter.h"
#include "Core/Registration/Stage/Cost.h"

#include <chrono>
#include <optional>

namespace tessera {

/// Turns an optimizer's rows and a cost's reports into the columns of elastix's iteration table, in its order
/// (by name).
template <int D>
class IterationTable {
public:
  IterationTable(const std::vector<std::string>& optimizerColumns, const Cost<D>& cost, bool exactMetric)
      : optimizerColumns_(optimizerColumns), termColumns_(cost.termColumns()),
        terms_(cost.termReports().size()), exactMetric_(exactMetric)
  {
  }

  std::vector<std::string> header() const;
  IterationRecord record(const IterationRow&, const Cost<D>&,
                         const std::optional<typename Cost<D>::ExactValues>& exact);

private:
  std::vector<std::string> optimizerColumns_;
  std::vector<TermColumn> termColumns_;
  std::size_t terms_;
  bool exactMetric_;
  std::chrono::steady_clock::time_point lastRow_ = std::chrono::steady_clock::now();
};

}
