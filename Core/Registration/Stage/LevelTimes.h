#pragma once

#include "Core/Compute/Cuda/Range.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Registration/Reporter.h"
#include "Core/Registration/Stage/Cost.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// Measured times of a level, in milliseconds of the host's clock. All but `total` exclude transfers.
template <int D>
struct LevelTimes {
  double total = 0, transfers = 0;
  double preparation = 0; // until the first samples are drawn, without reports
  double minimizing = 0;  // including its evaluations, draws, step sizes and reports
  double reporting = 0;
  double reportingBefore = 0, samplingBefore = 0; // before minimizing
  typename Cost<D>::Times cost;
  /// The phases of each term, in an evaluation for its value and in one with the gradient.
  std::array<std::vector<std::vector<Phase>>, 2> phases;
  std::vector<std::string> termNames;
  std::string device, deviceOfVectors;
};

/// Rows that add up to the total. Evaluations are measured as a whole. The time of each kind is split in the
/// proportions of one evaluation that was timed part by part, on CUDA over all terms, on the CPU for each
/// term.
template <int D>
std::vector<TimeRow> timeTable(const LevelTimes<D>&);

/// Measures a level from the moment when the object is made.
template <int D>
class LevelWatch {
public:
  LevelWatch(const Context&, const std::vector<std::string>& termNames);

  void preparationEnds(const Cost<D>& cost)
  {
    preparation_.reset();
    times_.preparation = clock_.milliseconds() - times_.reporting;
    times_.deviceOfVectors = deviceName(cost.context().device);
  }
  double secondsSoFar() const { return (hostMilliseconds() - start_) / 1000; }

  template <class Work>
  void report(Work&& work)
  {
    const Range range("reporting");
    const HostClock clock(context_);
    work();
    times_.reporting += clock.milliseconds();
  }
  template <class Work>
  auto minimize(const Cost<D>& cost, Work&& work)
  {
    times_.reportingBefore = times_.reporting;
    times_.samplingBefore = cost.times().sampling;
    const Range range("optimizer");
    const HostClock clock(context_);
    auto report = work();
    times_.minimizing = clock.milliseconds();
    return report;
  }
  /// Fills the summary's seconds, time and phases. With `timesParts` one evaluation of each kind that
  /// occurred is timed part by part.
  void addTo(Cost<D>&, std::span<const double> position, bool timesParts, LevelSummary&);

private:
  const Context& context_;
  double start_, transfersBefore_;
  HostClock clock_;
  LevelTimes<D> times_;
  std::optional<Range> preparation_;
};

}
