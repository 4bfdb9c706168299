#include "Core/Runs/Run.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Runs/Resampling/MovingImage.h"
#include "Core/Runs/RunJudgement.h"
#include "Core/Runs/SeriesCheck.h"
#include "Core/Runs/StageStarts.h"

#include <algorithm>
#include <future>
#include <utility>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

template <int D>
using Chain = ChainPointer<D>;

template <int D>
Chain<D> chainOf(const Registry& registry, const std::string& option, const GivenTransform& given,
                 const Context& host, Log& log)
{
  if (!given.isFile())
    return given.isGiven() ? *given.held<D>() : nullptr;
  const auto warn = [&log](const std::string& line) { log.warning(line); };
  return withContext(option, [&] { return readTransformChain<D>(host, given.path, registry, warn); });
}

template <int D>
Chain<D> initialOf(const Registry& registry, const GivenTransform& given, const Context& host, Log& log)
{
  if (given.isFile() && !given.path.ends_with(".txt"))
    log.warning("-t0: " + given.path + ": transformix 5.0.1 cannot read the results that start from it.");
  return chainOf<D>(registry, "-t0", given, host, log);
}

void checkPointsAreUsed(const RunRequest& request, const NeededPoints& needed, Log& log)
{
  if (!request.fixedPoints.isGiven() || needed.landmarks)
    return;
  if (!request.movingPoints.isGiven())
    failAs(ExitCode::usage, "command line", "-fp without -mp: points come in pairs",
           "both, none, or -fp alone with (Transform \"" + std::string(knowncomponents::landmarkTransform)
               + "\")");
  if (!needed.pairs)
    log.note("-fp and -mp: the points score the result and do not steer it. (Metric \""
             + std::string(knowncomponents::pointMetric) + "\") does.");
}

/// A rigid or affine stage after a free one moves what the free one has fitted, as a whole.
template <int D>
void noteOrderOfStages(const std::vector<CheckedStage<D>>& stages, Log& log)
{
  const auto isLinear = [](const CheckedStage<D>& stage) {
    return stage.prepared.components.transform->linear() != nullptr;
  };
  const auto firstFree = std::ranges::find_if_not(stages, isLinear),
             linearBehind = std::find_if(firstFree, stages.end(), isLinear);
  if (linearBehind != stages.end())
    log.note("stage " + std::to_string(linearBehind->number) + ", " + linearBehind->text.path
             + ": a shift, rigid or affine stage after a free one, stage " + std::to_string(firstFree->number)
             + ". Usually the free stage is the last one.");
}

/// Whether the stages use the directions of the headers: true, false, or both.
template <int D>
std::vector<bool> directionsInUse(const std::vector<CheckedStage<D>>& stages)
{
  std::vector<bool> values;
  for (const bool uses : {true, false})
    if (std::ranges::any_of(
            stages, [uses](const CheckedStage<D>& s) { return s.settings.useDirectionCosines == uses; }))
      values.push_back(uses);
  return values;
}

StageSummary describe(const Registry& registry, const StageText& text, const Parameters& parameters,
                      int dimension)
{
  StageSummary summary;
  summary.parameterFile = text.path;
  summary.parameters = effectiveParameters(registry, text.map);
  for (EffectiveParameter& parameter : summary.parameters) // whose default is the dimension of the images
    if (parameter.name == "FixedImageDimension" || parameter.name == "MovingImageDimension")
      parameter.values = {std::to_string(dimension)};
  summary.transform = componentNames(parameters, "Transform").front();
  summary.optimizer = componentNames(parameters, "Optimizer").front();
  summary.metrics = componentNames(parameters, "Metric");
  return summary;
}

/// Notes which files parameters ask for that nobody writes.
template <int D>
void noteUnwritten(const CheckedStage<D>& stage, Log& log)
{
  for (const char* name : {"WriteTransformParametersEachIteration", "WriteTransformParametersEachResolution",
                           "WriteResultImageAfterEachIteration", "WriteResultImageAfterEachResolution",
                           "WritePyramidImagesAfterEachResolution", "ITKTransformOutputFileNameExtension"})
    if (const ParameterEntry* const entry = stage.text.map->find(name);
        entry && std::ranges::any_of(entry->values, [](const std::string& value) {
          return value != "false" && !value.empty();
        }))
      log.note(stage.text.map->where(*entry) + ": (" + name + " ...): nothing is written in this run.");
}

}

template <int D>
class Run<D>::Body {
public:
  Body(const Registry& registry, RunRequest given, InputHeaders headers, Log& log, const Machine& machine)
      : registry_(registry), request_(std::move(given)), log_(log), machine_(machine)
  {
    const RunRequest& request = request_;
    checkRequest(request);
    NeededPoints needed;
    for (StageText text : request.stages) {
      if (!request.resultsAreShort)
        text.map = withResultType(text.map, headers.moving.front().componentType);
      text.map = withScheduleForSize(text.map, std::ranges::max(headers.fixed.front().size));
      stages_.push_back(checkStage<D>(registry, request, text, stages_.size(), headers, headers.files, log));
      needed.pairs |= stages_.back().needed.pairs;
      needed.landmarks |= stages_.back().needed.landmarks;
    }
    checkPointsAreUsed(request, needed, log);
    checkRequestForSeries<D>(request, stages_, log);
    noteOrderOfStages(stages_, log);
    const auto mayHoldOthers = [](const ImageHeader& labels) {
      return pixelTypeSize(labels.componentType) > 2;
    };
    const bool checksLabels = std::ranges::any_of(headers.labels, mayHoldOthers);
    inputs_ = std::make_unique<Inputs<D>>(request, std::move(headers));
    for (const bool uses : directionsInUse<D>(stages_)) {
      inputs_->checkMasks(uses);
      summary.pointsOutside = inputs_->warnOfPointsOutside(uses, log);
    }
    if (checksLabels)
      checkLabels<D>(request);
    chain = initial_ = initialOf<D>(registry, request.initialTransform, {Device{}, request.threads}, log);
    if (initial_ && std::ranges::any_of(stages_, isOfSeries<D>))
      checkStartOfSeries<D>("-t0: " + request.initialTransform.path, *initial_,
                            geometryOf<D>(inputs_->headers().fixed.front()), log);
    starts_ =
        startsOf<D>(request.startAt,
                    chainOf<D>(registry, "--start-at", request.startAt, {Device{}, request.threads}, log),
                    initial_.get(), stages_);
    checkItkFiles<D>(stages_, initial_.get());
    if (request.outputFolder.empty())
      return;
    const std::string& folder = request.outputFolder;
    const std::string warning =
        requireDiskRoom("-out: " + folder, folder, resultsToWrite<D>(stages_, folder, inputs_->headers()));
    if (!warning.empty())
      log.warning(warning);
  }

  RunPlan plan() { return planRun<D>(toPlan(*inputs_), log_); }

  RunResult<D> execute(RunListener<D>& listener, Stop stop, WarmSide<D>* warm, Deadline deadline)
  {
    stop_ = stop;
    warm_ = warm;
    deadline_ = deadline;
    if (!listener.writesFiles())
      for (const CheckedStage<D>& stage : stages_)
        noteUnwritten(stage, log_);
    if (warm)
      known_ = std::exchange(warm->onDevice, {});
    readWhileDevicesStart();
    listener.inputsRead();
    RunResult<D> result;
    for (CheckedStage<D>& stage : stages_)
      result.image = runStage(std::move(stage), listener);
    if (warm)
      warm->onDevice = std::move(chosen_);
    result.chain = chain;
    return result;
  }

  const Inputs<D>& inputs() const { return *inputs_; }

  RunSummary summary;
  Chain<D> chain; // of the initial transform and all finished stages

private:
  StagesToPlan<D> toPlan(const Inputs<D>& inputs)
  {
    return {registry_, request_, machine_, inputs, initial_, stages_, warm_ ? &warm_->contexts : nullptr};
  }

  /// A CUDA driver takes 0.2 s to start; images are read meanwhile. That there is no driver is known at once.
  void readWhileDevicesStart()
  {
    const Inputs<D> headersAlone = *inputs_; // which the thread sees while voxels are read
    std::future<void> devices;
    if (known_.empty())
      devices = std::async(std::launch::async, [&] { chooseStageDevices<D>(toPlan(headersAlone)); });
    if (devices.valid() && devices.wait_for(std::chrono::milliseconds(5)) == std::future_status::ready)
      devices.get();
    const auto start = Clock::now();
    log_.info("");
    log_.info("Reading images...");
    const bool isWarm = warm_ && !known_.empty() && !warm_->contexts.empty();
    inputs_->load(isWarm ? warm_->contexts.begin()->second : Context{Device{}, request_.threads},
                  std::ranges::all_of(stages_, [](const auto& s) { return s.settings.leavesOutFilling; }),
                  log_, warm_ ? &warm_->fixed : nullptr);
    for (const bool uses : directionsInUse<D>(stages_))
      inputs_->checkMaskedVoxels(uses);
    summary.readingSeconds = secondsSince(start);
    log_.info("Reading images took " + decimals(summary.readingSeconds * 1000, 0) + " ms.");
    log_.info("");
    if (devices.valid())
      devices.get();
  }

  Context hostOf(const StageSettings& settings) const
  {
    const bool textDecides = request_.threadSource != "-threads" && settings.threads > 0;
    return {Device{}, textDecides ? static_cast<int>(settings.threads) : request_.threads, nullptr, stop_};
  }

  ResultImage<D> runStage(CheckedStage<D> stage, RunListener<D>& listener)
  {
    const auto start = Clock::now();
    usesDirectionCosines_ = stage.settings.useDirectionCosines;
    const bool isLast = stage.number + 1 == stages_.size();
    StageInput<D> input = inputs_->ofStage(stage.number, usesDirectionCosines_, chain);
    input.start = starts_[stage.number];
    input.deadline = deadline_;
    input.timesParts = !warm_; // an update has no time for it
    if (warm_)
      input.filtered = &warm_->filtered;
    const Parameters parameters = stage.prepared.parameters;
    Context context = hostOf(stage.settings);
    const CheckedImage<D> asRead = inputs_->movingAsRead(usesDirectionCosines_);
    const StageImage<D> image{*stage.resampler,
                              *stage.resampleInterpolator,
                              componentNames(parameters, "ResampleInterpolator").front(),
                              asRead.image,
                              asRead.finiteVoxels,
                              input.fixed.front()->geometry,
                              inputs_->fixedInFile().direction};
    RunningStage<D> running{
        stage.number,
        stages_.size(),
        stage.text,
        parameters,
        stage.settings,
        *stage.resampler,
        input.fixed.front()->geometry,
        input.moving.front()->geometry,
        inputs_->fixedInFile(),
        inputs_->movingInFile(),
        context,
        [&](const TransformChain<D>& chain) { return image.resampled(context, chain, log_); }};
    listener.stageStarted(running);
    const StageOnDevice* const known = known_.empty() ? nullptr : &known_[stage.number];
    const DeviceReservation reservation = planAsRead<D>(toPlan(*inputs_), stage, input, known, context);
    chosen_.push_back({stage.wanted, stage.prepared.choice, stage.prepared.plans});
    summary.deviceReason = stage.prepared.choice.reason;
    summary.device = deviceName(context.device);
    summary.threads = context.threads;
    log_.info("Device: " + summary.deviceReason + ", " + threadsText(context.threads) + ".");
    if (known_.empty()) // else an earlier update did
      machine_.prepareGpu(context, log_);
    StageSummary ofStage = describe(registry_, stage.text, parameters, D);
    ofStage.device = summary.device;
    ofStage.deviceReason = summary.deviceReason;
    ofStage.isSeries = isOfSeries<D>(stage);
    for (auto* images : {&input.fixed, &input.moving}) // kernels alone take those that the host has not
      for (ImagePointer<D>& of : *images) {
        if (!context.onCuda() || ofStage.isSeries)
          hostVoxels<D>(of);
        if (ofStage.isSeries && ownVoxelsOnCuda<D>(context.device, of))
          of = std::make_shared<Image<D>>(*of); // so that the host has the images of levels, too
      }
    if (ofStage.isSeries)
      warnOfVoxelsOfSeries<D>(request_, input, log_);
    StageResult<D> found;
    try {
      found = tessera::runStage<D>(context, registry_, std::move(stage.prepared), input, listener, log_);
      if (found.wasStopped)
        throw Interrupted{};
    } catch (const Interrupted&) {
      listener.stageWasStopped();
      throw;
    }

    const auto writing = Clock::now();
    listener.transformFound(found.chain);
    ResultImage<D> result;
    try {
      if (running.resampler.writesFinalResult()) {
        result = image.resampled(context, *found.chain, log_, listener.takesPixelsOnCuda());
        const ImageHeader& moving = inputs_->headers().moving.front();
        tellOfClamped("-m: " + moving.path, result.clamped, moving.componentType, result.type, log_);
        listener.resultMade(result);
      }
      const bool measures = request_.measuresResult && !input.isOver();
      if (measures)
        ofStage.volumeChange = volumeChangeOf(context, *found.chain, input, parameters);
      if (isLast && measures) {
        std::optional<double> determinant;
        if (ofStage.volumeChange)
          determinant = ofStage.volumeChange->median;
        judgeResult<D>({registry_, request_, input, usesDirectionCosines_, inputs_->fixedInFile().direction,
                        initial_.get(), found.chain.get(), running.host, determinant, ofStage.isSeries,
                        context},
                       summary, log_);
      }
    } catch (const Interrupted&) { // the levels of the stage are told, and the run ends below
    }
    ofStage.writingSeconds = secondsSince(writing);
    ofStage.levels = std::move(found.levels);
    ofStage.finalMetric = found.finalValue;
    listener.resultJudged(ofStage);
    ofStage.seconds = secondsSince(start);
    listener.stageFinished(ofStage);
    chain = found.chain;
    summary.stages.push_back(std::move(ofStage));
    stop_.endIfAsked(); // while the results were made
    return result;
  }

  /// Tells the figures to the log, too. A transform without spatial derivatives does not end the run.
  std::optional<VolumeChange> volumeChangeOf(const Context& context, const TransformChain<D>& chain,
                                             const StageInput<D>& input, const Parameters& parameters)
  {
    const std::string inVoxels = "FinalGridSpacingInVoxels";
    try {
      const MaskPointer<D> mask = input.fixedMasks.empty() ? nullptr : input.fixedMasks.front();
      const std::optional<VolumeChange> change =
          volumeChange<D>(context, registry_, chain, input.fixed.front(), mask);
      if (change)
        log_.info(change->text());
      if (change && change->folded > 0)
        log_.warning(
            change->warning(componentNames(parameters, "Metric"),
                            parameters.has(inVoxels) ? inVoxels : "FinalGridSpacingInPhysicalUnits"));
      return change;
    } catch (const Error& error) {
      log_.note(std::string("no determinants of the spatial Jacobian: ") + error.what());
      return {};
    }
  }

  const Registry& registry_;
  const RunRequest request_;
  Log& log_;
  const Machine& machine_;
  std::vector<CheckedStage<D>> stages_;
  std::unique_ptr<Inputs<D>> inputs_;
  Chain<D> initial_;             // of the request; null: none
  std::vector<Chain<D>> starts_; // of each stage, its last transform; null: none
  WarmSide<D>* warm_ = nullptr;
  std::vector<StageOnDevice> known_, chosen_; // by an earlier run, and by this one
  Deadline deadline_ = Deadline::max();
  Stop stop_;
  bool usesDirectionCosines_ = true; // in the stage that runs, or ran last
};

template <int D>
Run<D>::Run(const Registry& registry, RunRequest request, InputHeaders headers, Log& log,
            const Machine& machine)
    : body_(std::make_unique<Body>(registry, std::move(request), std::move(headers), log, machine))
{
}

template <int D>
Run<D>::Run(const Registry& registry, const RunRequest& request, Log& log, const Machine& machine)
    : Run(registry, request, readHeaders(request, log), log, machine)
{
}

template <int D>
Run<D>::~Run() = default;

template <int D>
RunPlan Run<D>::plan()
{
  return body_->plan();
}

template <int D>
RunResult<D> Run<D>::execute(RunListener<D>& listener, Stop stop, WarmSide<D>* warm, Deadline deadline)
{
  return body_->execute(listener, stop, warm, deadline);
}

template <int D>
RunResult<D> Run<D>::execute()
{
  RunListener<D> nobody;
  return execute(nobody);
}

template <int D>
const InputHeaders& Run<D>::headers() const
{
  return body_->inputs().headers();
}

template <int D>
const RunSummary& Run<D>::summary() const
{
  return body_->summary;
}

template <int D>
RunSummary Run<D>::takeSummary()
{
  return std::move(body_->summary);
}

template <int D>
const ChainPointer<D>& Run<D>::chain() const
{
  return body_->chain;
}

TESSERA_INSTANTIATE_CLASS_TO_4(Run);

}
