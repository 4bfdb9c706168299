#include "Core/Registration/Registration.h"

#include "Core/Compute/Cuda/Range.h"
#include "Core/Compute/Error.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/Stage/Convergence.h"
#include "Core/Registration/Stage/Cost.h"
#include "Core/Registration/Stage/Divergence.h"
#include "Core/Registration/Stage/LevelData.h"
#include "Core/Registration/Stage/LevelTimes.h"
#include "Core/Registration/Stage/PreparedStage.h"
#include "Core/Registration/Stage/Remedy.h"
#include "Core/Registration/Terms/ValidSampleRule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

namespace tessera {
namespace {

constexpr std::size_t samplesForScales = 10000; // elastix's AutomaticScalesEstimation
constexpr double noMotion = 1e-3; // voxels: a stage that moves all points by less has done nothing

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

  std::vector<std::string> header() const
  {
    std::map<std::string, int> names{{"1:ItNr", 0}, {"2:Metric", 0}, {"Time[ms]", 0}};
    for (const std::string& column : optimizerColumns_)
      names[column] = 0;
    for (const TermColumn& column : termColumns_)
      names[column.name] = 0;
    if (exactMetric_ && terms_ > 1)
      names["ExactMetric"] = 0;
    for (std::size_t t = 0; exactMetric_ && t < terms_; ++t)
      names["ExactMetric" + std::to_string(t)] = 0;
    for (std::size_t t = 0; terms_ > 1 && t < terms_; ++t)
      for (const std::string& name :
           {"2:Metric" + std::to_string(t), "4:||Gradient" + std::to_string(t) + "||",
            "Time" + std::to_string(t) + "[ms]"})
        names[name] = 0;
    std::vector<std::string> header;
    for (const auto& [name, unused] : names)
      header.push_back(name);
    return header;
  }

  std::vector<std::string> cells(const IterationRow& row, const Cost<D>& cost,
                                 const std::optional<typename Cost<D>::ExactValues>& exact)
  {
    const auto now = std::chrono::steady_clock::now();
    std::map<std::string, std::string> cells{
        {"1:ItNr", std::to_string(row.iteration)},
        {"2:Metric", decimals(row.value, 6)},
        {"Time[ms]", decimals(std::chrono::duration<double, std::milli>(now - lastRow_).count(), 1)},
    };
    lastRow_ = now;
    for (std::size_t c = 0; c < optimizerColumns_.size(); ++c)
      cells[optimizerColumns_[c]] =
          c < row.columns.size() ? decimals(row.columns[c], 6) : row.textColumns.at(c - row.columns.size());
    for (const TermColumn& column : cost.termColumns())
      cells[column.name] = decimals(column.value, 10);
    if (exactMetric_ && terms_ > 1)
      cells["ExactMetric"] = exact ? decimals(exact->combined, 6) : "";
    for (std::size_t t = 0; exactMetric_ && t < terms_; ++t)
      cells["ExactMetric" + std::to_string(t)] = exact ? decimals(exact->ofTerms[t], 6) : "";
    for (std::size_t t = 0; terms_ > 1 && t < terms_; ++t) {
      const auto& report = cost.termReports()[t];
      cells["2:Metric" + std::to_string(t)] = decimals(report.value, 6);
      cells["4:||Gradient" + std::to_string(t) + "||"] = decimals(report.gradientNorm, 6);
      cells["Time" + std::to_string(t) + "[ms]"] = decimals(report.milliseconds, 1);
    }
    std::vector<std::string> inOrder;
    for (auto& [name, cell] : cells)
      inOrder.push_back(std::move(cell));
    return inOrder;
  }

private:
  std::vector<std::string> optimizerColumns_;
  std::vector<TermColumn> termColumns_;
  std::size_t terms_;
  bool exactMetric_;
  std::chrono::steady_clock::time_point lastRow_ = std::chrono::steady_clock::now();
};

template <int D>
double meanInPlaneSpacingMm(const StageInput<D>& input)
{
  double sum = 0;
  for (int d = 0; d < 2; ++d)
    sum += input.fixed.front()->geometry.spacingMm[d] + input.moving.front()->geometry.spacingMm[d];
  return sum / 4;
}

/// The transform's scales at the chain's present parameters, found on a grid over the whole fixed image.
template <int D>
std::vector<double> scalesOf(Context& context, const StageInput<D>& input, const TransformChain<D>& chain)
{
  const SampleSet<D> grid = gridOfAbout<D>(samplesForScales, input.fixed.front(), nullptr);
  std::array<std::vector<double>, D> pointsMm;
  PointBatch<D> batch;
  for (std::size_t first = 0; first < positionCount(grid); first += batchCapacity) {
    fillBatch<D>(grid, first, std::min(first + batchCapacity, positionCount(grid)), batch, nullptr);
    mapInitial<D>(context, chain, batch.list(), batch.out());
    for (int d = 0; d < D; ++d)
      pointsMm[d].insert(pointsMm[d].end(), batch.mm[d].begin(), batch.mm[d].begin() + batch.count);
  }
  return optimizable(*chain.transform)
      .scales(context, ListSamples<D>{pointersTo<D>(std::as_const(pointsMm)), pointsMm[0].size()},
              chain.parameters);
}

template <int D>
TransformStart<D> startOf(const StageInput<D>& input)
{
  TransformStart<D> start{input.fixed.front(),
                          input.moving.front(),
                          nullptr,
                          nullptr,
                          input.initial.get(),
                          input.hasPoints ? &input.points : nullptr};
  if (!input.fixedMasks.empty())
    start.fixedMask = input.fixedMasks.front();
  if (!input.movingMasks.empty())
    start.movingMask = input.movingMasks.front();
  return start;
}

std::string textOf(const std::vector<double>& values)
{
  std::string text = "[";
  for (std::size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + realText(values[i]);
  return text + "]";
}

/// A stage while it runs.
template <int D>
struct Stage {
  Context& context;
  const Registry& registry;
  const StageInput<D>& input;
  const Parameters& parameters;
  StageComponents<D>& components;
  const std::vector<LevelPlan>& plans;
  Reporter<D>& reporter;
  Log& log;
  TransformChain<D> chain = {}; // with the parameters of the last finished level
  std::vector<double> startParameters = {};
  std::vector<double> scales = {};
  HeldOnCuda originals = {};   // kept until the last level has its images
  std::vector<bool> runs = {}; // whether each level is run (RunResolution, and the deadline)
};

template <int D>
Cost<D> makeCost(Stage<D>& stage, LevelData<D> data, std::unique_ptr<TransformChain<D>> chain,
                 std::size_t level, const Convergence& convergence, bool& isOver)
{
  typename Cost<D>::Level costLevel;
  costLevel.combination = stage.components.registration->combination(level, data.parts.size());
  costLevel.parts = std::move(data.parts);
  costLevel.names = componentNames(stage.parameters, "Metric");
  costLevel.chain = std::move(chain);
  costLevel.scales =
      optimizable(*stage.components.transform).scalesFollowLevels() ? std::move(stage.scales) : stage.scales;
  costLevel.draw = {static_cast<std::uint64_t>(stage.parameters.get(stageparameters::randomSeed())),
                    static_cast<std::uint32_t>(stage.input.stage), static_cast<std::uint32_t>(level), 0};
  costLevel.newSamplesEveryIteration =
      stage.parameters.get(stageparameters::newSamplesEveryIteration(), level);
  costLevel.tellsNorms = stage.input.timesParts;
  costLevel.meanInPlaneSpacingMm = meanInPlaneSpacingMm(stage.input);
  costLevel.log = [&log = stage.log](const std::string& line) { log.info(line); };
  costLevel.isStopAsked = [&convergence, &isOver, &input = stage.input, stop = stage.context.stop] {
    return convergence.isReached() || stop.isAsked() || (isOver = input.isOver());
  };
  return Cost<D>(stage.context, std::move(costLevel));
}

/// The metric values on a grid, if ShowExactMetricValue asks for them at this iteration.
template <int D>
std::optional<typename Cost<D>::ExactValues> exactValues(const Stage<D>& stage, Cost<D>& cost,
                                                         std::size_t level, std::size_t iteration,
                                                         std::span<const double> position)
{
  const auto every =
      static_cast<std::size_t>(stage.parameters.get(stageparameters::exactMetricEveryXIterations(), level));
  if (iteration % every != 0)
    return std::nullopt;
  return cost.exactValues(position, exactMetricStep<D>(stage.parameters, level));
}

/// The device memory that was planned for a level, and the memory that the level then took.
template <int D>
class LevelMemory {
public:
  LevelMemory(const Stage<D>& stage, std::size_t level) : context_(stage.context)
  {
    if (!context_.onCuda())
      return;
    takePeakDeviceMemory(context_);
    if (level >= stage.plans.size())
      return;
    plan_ = stage.plans[level];
    stage.log.info("Device memory: " + planText(plan_, level, deviceName(context_.device)) + ".");
  }
  std::size_t slabs() const { return plan_.slabs; }
  bool keepsOriginals() const { return plan_.keepsOriginals; }
  void addTo(LevelSummary& summary) const
  {
    summary.slabs = plan_.slabs;
    summary.deviceBytesPlanned = plan_.memory.bytes();
    summary.deviceBytesTaken = context_.onCuda() ? takePeakDeviceMemory(context_) : 0;
  }

private:
  const Context& context_;
  LevelPlan plan_;
};

/// The chain at the start of the stage. A transform that was refined since then has been the identity there,
/// with zeros for parameters, or it is the one that the stage went on from.
template <int D>
TransformChain<D> startChain(const Stage<D>& stage)
{
  const TransformChain<D>& end = stage.chain;
  TransformChain<D> start{end.initial, end.combination, end.transform};
  if (stage.input.start) {
    start.transform = stage.input.start->transform;
    start.parameters = stage.input.start->parameters;
  } else if (end.parameters.size() == stage.startParameters.size()) {
    start.parameters = stage.startParameters;
  } else {
    start.parameters.resize(end.parameters.size());
  }
  return start;
}

/// Calls minimize(). An error about too few valid samples then names the remedy for this case.
template <int D, class Minimize>
OptimizerReport withRemedy(const Stage<D>& stage, const MotionMasks<D>& masksOfLevel, const Cost<D>& cost,
                           Minimize&& minimize)
{
  try {
    return minimize();
  } catch (const TooFewValidSamples& error) {
    const auto motion = [&](const MotionMasks<D>& masks) {
      return motionBetween<D>(stage.context, stage.input, masks, startChain(stage), cost.lastChain());
    };
    FewSamples few{.asGiven = motion(masksAsGiven(stage.input)),
                   .atLevel = motion(masksOfLevel),
                   .diagonalOfFixedMm = diagonalMm<D>(stage.input.fixed.front()->geometry),
                   .anyIsValid = error.anyIsValid(),
                   .canCentre = !stage.chain.initial && stage.chain.transform->linear(),
                   .movingMaskIsGiven =
                       stage.input.erodedOfMoving.empty() || stage.input.erodedOfMoving.front()};
    if (const std::string inVoxels = "FinalGridSpacingInVoxels"; stage.parameters.has(inVoxels))
      few.gridSpacing = inVoxels;
    throw Error(error.code(), error.finding() + remedyFor(few) + ".");
  }
}

/// Runs one level. The result is empty if the user stopped the run before the level was finished.
template <int D>
std::optional<LevelSummary> runLevel(Stage<D>& stage, std::size_t level)
{
  const Range range(("level " + std::to_string(level)).c_str());
  LevelWatch<D> watch(stage.context, componentNames(stage.parameters, "Metric"));
  StageComponents<D>& components = stage.components;
  Reporter<D>& reporter = stage.reporter;

  const LevelMemory<D> memory(stage, level);
  optimizable(*components.transform).prepareForLevel(stage.context, level, stage.chain.parameters);
  if (optimizable(*components.transform).scalesFollowLevels())
    stage.scales = optimizable(*components.transform).scales(stage.context, {}, stage.chain.parameters);
  auto chain = std::make_unique<TransformChain<D>>(stage.chain); // the cost changes this copy alone
  LevelData<D> data = prepareLevel(stage.context, stage.registry, stage.input, stage.parameters, components,
                                   *chain, level, memory.keepsOriginals() ? &stage.originals : nullptr);
  prepareTerms(stage.context, components, data, memory.slabs());
  watch.report([&] { reporter.pyramidImages(level, data.fixed, data.moving); });
  const MotionMasks<D> masksOfLevel{data.terms.front().fixedMask, data.terms.front().movingMask};
  Convergence convergence(stage.parameters, level);
  bool isOver = false;
  Cost<D> cost = makeCost(stage, std::move(data), std::move(chain), level, convergence, isOver);
  watch.preparationEnds(cost);
  cost.drawSamples(0, 0);

  const bool exact = stage.parameters.get(stageparameters::showExactMetricValue(), level);
  Buffer<double> position = cost.positionOf(stage.chain.parameters);
  components.optimizer->prepareForLevel(cost.context(), level, position.size());
  IterationTable<D> table(components.optimizer->columns(), cost, exact);
  reporter.levelStarted(level, table.header());
  LevelSummary summary;
  summary.level = level;
  summary.preparationSeconds = watch.secondsSoFar();

  bool isFirst = true;
  const auto sink = [&](const IterationRow& row, std::span<const double> reached) {
    if (std::exchange(isFirst, false))
      summary.startValue = row.value;
    summary.curve.push_back(row.value);
    watch.report([&] {
      const auto exactNow = exact ? exactValues(stage, cost, level, row.iteration, reached) : std::nullopt;
      const auto cells = [&] { return table.cells(row, cost, exactNow); };
      reporter.iterationDone(level, {row.iteration, row.value, cells}, [&] { return cost.chainAt(reached); });
    });
    if (!row.isTrial)
      convergence.add(row.value);
  };
  const OptimizerReport report = withRemedy(stage, masksOfLevel, cost, [&] {
    return watch.minimize(cost, [&] { return components.optimizer->minimize(cost, level, position, sink); });
  });
  if (report.wasStopped && !convergence.isReached() && (!isOver || stage.context.stop.isAsked()))
    return std::nullopt;
  cost.copyParametersOf(std::as_const(position).span(), stage.chain.parameters);

  summary.iterations = report.iterations;
  summary.value = report.value;
  summary.endedInTime = report.wasStopped && isOver;
  summary.stopCondition = summary.endedInTime ? "The time was over."
                          : report.wasStopped ? convergence.stopCondition()
                                              : report.stopCondition;
  summary.settings = report.settings;
  summary.surface = report.surface;
  summary.evaluations = cost.evaluations().all;
  summary.evaluationsWithGradient = cost.evaluations().withGradient;
  memory.addTo(summary);
  watch.addTo(cost, std::as_const(position).span(), stage.input.timesParts, summary);
  std::string diverged, doubtful;
  if (std::find(stage.runs.begin() + static_cast<std::ptrdiff_t>(level) + 1, stage.runs.end(), true)
      == stage.runs.end()) {
    const TransformChain<D> start = startChain(stage);
    const ImageGeometry<D>& fixed = stage.input.fixed.front()->geometry;
    const Motion motion =
        motionBetween<D>(stage.context, stage.input, masksAsGiven(stage.input), start, stage.chain);
    diverged = whyDiverged<D>(cost, motion, diagonalMm(fixed), start, stage.chain,
                              ValidSampleRule::requiredShare(stage.parameters, level));
    if (diverged.empty() && !stage.input.start) // one that goes on may well have nothing to do
      doubtful = motion.largestMm < noMotion * *std::ranges::min_element(fixed.spacingMm)
                         && report.iterations + summary.evaluationsWithGradient > 0
                     ? "it moved no point of the fixed image (and mask) by a thousandth of a voxel, so its "
                       "result is its start. If the images did not fit there: do the weights of the metrics, "
                       "and parameters in units of intensity, suit the range of the intensities?"
                     : whyWorse<D>(cost, start, stage.chain, report.iterations);
  }
  endLevel(components);
  reporter.levelFinished(summary, stage.chain);
  if (!doubtful.empty())
    stage.log.warning("stage " + std::to_string(stage.input.stage) + ": " + doubtful);
  if (!diverged.empty())
    throw Error(ExitCode::registrationFailed, "stage " + std::to_string(stage.input.stage) + ": " + diverged);
  return summary;
}

/// Sets the parameters of the first level that is run, and of the last one if none is.
template <int D>
std::size_t beginStage(Stage<D>& stage)
{
  OptimizableTransform<D>& transform = optimizable(*stage.components.transform);
  const std::size_t levels = stage.parameters.levelCount();
  const bool isOver = stage.input.isOver();
  for (std::size_t level = 0; level < levels; ++level)
    stage.runs.push_back(!isOver && stage.parameters.get(stageparameters::runResolution(), level));
  const auto found = std::ranges::find(stage.runs, true);
  const std::size_t first =
      found == stage.runs.end() ? levels - 1 : static_cast<std::size_t>(found - stage.runs.begin());
  const TransformStart<D> start = startOf(stage.input);
  stage.chain.parameters =
      stage.input.start ? transform.takeOver(stage.context, start, first, *stage.input.start->transform,
                                             stage.input.start->parameters)
                        : transform.initialize(stage.context, start);
  if (!stage.input.start)
    stage.startParameters = stage.chain.parameters;
  return first;
}

}

template <int D>
StageResult<D> runStage(Context& context, const Registry& registry, PreparedStage<D> prepared,
                        const StageInput<D>& input, Reporter<D>& reporter, Log& log)
{
  const Parameters& parameters = prepared.parameters;
  Stage<D> stage{context, registry, input, parameters, prepared.components, prepared.plans, reporter, log};

  stage.chain.initial = input.initial;
  stage.chain.combination = combinationOf(parameters);
  stage.chain.transform = stage.components.transform;
  const std::size_t first = beginStage(stage);
  if (!optimizable(*stage.chain.transform).scalesFollowLevels() && std::ranges::count(stage.runs, true) > 0) {
    log.info("Transform parameters are initialized as: " + textOf(stage.chain.parameters));
    stage.scales = scalesOf(context, input, stage.chain);
    log.info("Scales for transform parameters are: " + textOf(stage.scales));
  }

  StageResult<D> result;
  for (std::size_t level = first; level < parameters.levelCount() && !result.wasStopped; ++level) {
    if (!stage.runs[level] || (level > first && input.isOver()))
      optimizable(*stage.components.transform).prepareForLevel(context, level, stage.chain.parameters);
    else if (std::optional<LevelSummary> summary = runLevel(stage, level))
      result.levels.push_back(std::move(*summary));
    else
      result.wasStopped = true;
  }
  if (!result.levels.empty())
    result.finalValue = result.levels.back().value;
  result.chain = std::make_shared<TransformChain<D>>(std::move(stage.chain));
  return result;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(runStage<D>);

}
