#include "Core/Registration/Stage/LevelTimes.h"

#include <algorithm>

namespace tessera {
namespace {

class Rows {
public:
  void addIfAny(const std::string& part, double milliseconds, const std::string& device)
  {
    if (milliseconds > 0)
      add(part, milliseconds, device);
  }
  void add(const std::string& part, double milliseconds, const std::string& device)
  {
    const auto known = std::ranges::find(rows_, part, &TimeRow::part);
    if (known != rows_.end())
      known->milliseconds += milliseconds;
    else
      rows_.push_back({part, milliseconds, device});
  }
  /// A part that takes this share of evaluations.
  void addShare(const std::string& part, double milliseconds, double share, const EvaluationLaunches& of,
                const std::string& device)
  {
    add(part, milliseconds, device);
    TimeRow& row = *std::ranges::find(rows_, part, &TimeRow::part);
    row.leastMilliseconds =
        row.launches > 0 ? std::min(row.leastMilliseconds, share * of.least) : share * of.least;
    row.mostMilliseconds = std::max(row.mostMilliseconds, share * of.most);
    row.launches += of.count;
  }
  double sum() const
  {
    double sum = 0;
    for (const TimeRow& row : rows_)
      sum += row.milliseconds;
    return sum;
  }
  const std::vector<TimeRow>& all() const { return rows_; }

private:
  std::vector<TimeRow> rows_;
};

/// Splits time by the phases of terms [first, last); the phase of a term without parts has the term's name.
/// All of them have a row: one that is measured as a difference can be 0 on a busy machine.
template <int D>
void addEvaluations(const LevelTimes<D>& times, int kind, double milliseconds, std::size_t first,
                    std::size_t last, Rows& rows)
{
  if (!(milliseconds > 0))
    return;
  const auto& phases = times.phases[kind];
  const auto add = [&](const std::string& part, double ms) {
    rows.addShare(part, ms, ms / times.cost.evaluations[kind], times.cost.launches[kind], times.device);
  };
  double together = 0;
  for (std::size_t t = first; t < std::min(last, phases.size()); ++t)
    for (const Phase& phase : phases[t])
      together += phase.milliseconds;
  if (!(together > 0))
    return add(last == first + 1 ? times.termNames[first] : "evaluations", milliseconds);
  for (std::size_t t = first; t < std::min(last, phases.size()); ++t)
    for (const Phase& phase : phases[t])
      add(phase.name.empty() ? times.termNames[t] : phase.name, milliseconds * phase.milliseconds / together);
}

}

template <int D>
std::vector<TimeRow> timeTable(const LevelTimes<D>& times)
{
  const typename Cost<D>::Times& cost = times.cost;
  const bool onCpu = times.device == "cpu";
  Rows rows;
  rows.addIfAny("preparation", times.preparation, "cpu");
  // Counted on CUDA alone; on the CPU the rest of an evaluation is vector operations like the optimizer's.
  double evaluating = 0;
  for (int kind = 0; kind < 2; ++kind) {
    if (!onCpu) {
      evaluating += cost.evaluations[kind];
      addEvaluations(times, kind, cost.evaluations[kind], 0, times.termNames.size(), rows);
      continue;
    }
    for (std::size_t t = 0; t < cost.ofTerms.size(); ++t) {
      evaluating += cost.ofTerms[t][kind];
      addEvaluations(times, kind, cost.ofTerms[t][kind], t, t + 1, rows);
    }
  }
  rows.addIfAny("sampling", cost.sampling, times.device);
  rows.addIfAny("step sizes", cost.stepSizes, "cpu");
  rows.addIfAny("exact gradients", cost.onGrid, times.device);
  const double drawing = cost.sampling - times.samplingBefore,
               reporting = times.reporting - times.reportingBefore;
  rows.addIfAny("optimizer",
                times.minimizing - evaluating - drawing - cost.stepSizes - cost.onGrid - reporting,
                times.deviceOfVectors);
  rows.addIfAny("reporting", times.reporting, "cpu");
  rows.addIfAny("transfers", times.transfers, times.device);
  rows.addIfAny("other", times.total - rows.sum(), "cpu");
  return rows.all();
}

template <int D>
LevelWatch<D>::LevelWatch(const Context& context, const std::vector<std::string>& termNames)
    : context_(context), start_(hostMilliseconds()), transfersBefore_(transferMilliseconds(context)),
      clock_(context)
{
  times_.device = deviceName(context.device);
  times_.termNames = termNames;
  preparation_.emplace("preparation");
}

template <int D>
void LevelWatch<D>::addTo(Cost<D>& cost, std::span<const double> position, bool timesParts,
                          LevelSummary& summary)
{
  times_.cost = cost.times();
  for (const int kind : {0, 1})
    if (timesParts && times_.cost.evaluations[kind] > 0)
      times_.phases[kind] = cost.timePhases(position, kind == 1);
  if (context_.onCuda())
    summary.phases = times_.phases[1];
  times_.transfers = transferMilliseconds(context_) - transfersBefore_;
  times_.total = hostMilliseconds() - start_;
  summary.seconds = times_.total / 1000;
  summary.time = timeTable(times_);
}

TESSERA_INSTANTIATE_CLASS_TO_4(LevelWatch);
TESSERA_INSTANTIATE_FUNCTIONS_TO_4(timeTable<D>);

}
