#include "Core/Runs/Prediction/MeasuredTime.h"

#include <algorithm>
#include <array>
#include <chrono>

namespace tessera {
namespace {

/// The parameters with three iterations at each level, so that the second and third meet warm caches.
std::shared_ptr<const ParameterMap> withFewIterations(const ParameterMap& text)
{
  constexpr const char* name = "MaximumNumberOfIterations";
  auto few = std::make_shared<ParameterMap>(text.fileName());
  for (const ParameterEntry& entry : text.entries())
    if (!entry.name.ends_with(name))
      few->add(entry);
  few->add({name, {"3"}, 0});
  return few;
}

}

double evaluationSeconds(const LevelSummary& level)
{
  constexpr std::array once{"preparation", "step sizes", "exact gradients", "reporting", "other"};
  double milliseconds = 0;
  for (const TimeRow& row : level.time)
    if (std::ranges::find(once, row.part) == once.end())
      milliseconds += row.milliseconds;
  return milliseconds / 1000 / static_cast<double>(std::max<std::size_t>(1, level.evaluations));
}

template <int D>
std::string measuredTimeText(const Registry& registry, RunRequest request, const InputHeaders& headers,
                             const RunPlan& plan, const Machine& machine)
{
  const auto start = std::chrono::steady_clock::now();
  for (StageText& stage : request.stages)
    stage.map = withFewIterations(*stage.map);
  request.outputFolder.clear();
  request.device =
      deviceName(plan.stages.front().choice.device); // what few iterations would choose is another
  std::vector<double> planned;                       // evaluations of all levels
  for (const StagePlan& stage : plan.stages)
    planned.insert(planned.end(), stage.evaluations.begin(), stage.evaluations.end());
  Log quiet;
  Run<D> run(registry, request, headers, quiet, machine);
  run.execute();
  double seconds = secondsSince(start) + plan.times.start + plan.times.writing;
  std::string ofLevels;
  auto ofPlan = planned.begin();
  for (const StageSummary& stage : run.summary().stages)
    for (const LevelSummary& level : stage.levels) {
      const double more = *ofPlan++ - static_cast<double>(level.evaluations),
                   ofLevel = level.seconds + std::max(0.0, more) * evaluationSeconds(level);
      seconds += ofLevel - level.seconds;
      ofLevels += (ofLevels.empty() ? "" : ", ") + timeText(ofLevel) + " ("
                  + decimals(1e3 * evaluationSeconds(level), 3) + " ms an evaluation)";
    }
  return "Time, measured with few iterations: " + std::string("about ") + timeText(seconds)
         + (plan.mayEndEarly ? " if no level ends early" : "") + "; levels take " + ofLevels + ".";
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(measuredTimeText<D>);

}
