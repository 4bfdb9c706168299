#include "Tools/Register/RegisterRun.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Tools/Common/GpuRatesFile.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"
#include "Tools/Register/EffectiveParameters.h"
#include "Tools/Register/InverseResults.h"
#include "Tools/Register/OutputNames.h"
#include "Tools/Register/RunJudgement.h"
#include "Tools/Register/RunSummary.h"
#include "Tools/Register/StageCheck.h"
#include "Tools/Register/StageDevice.h"
#include "Tools/Register/StageLog.h"
#include "Tools/Register/StageReporter.h"

#include <algorithm>
#include <cstdio>
#include <future>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;

/// The inputs and results that all stages of a run share.
template <int D>
struct Run {
  const Registry& registry;
  const RegisterOptions& options;
  std::string folder;
  RunLog& log;
  ReadInputs<D> asRead;
  bool usesDirectionCosines = true;                 // in the stage that runs, or ran last
  std::shared_ptr<const TransformChain<D>> initial; // of the next stage; null: none
  std::shared_ptr<const TransformChain<D>> asGiven; // by -t0; null: none
  std::string initialPath, initialDigest;           // digest empty: there is no such file
  RunSummary& summary;
};

template <int D>
Context contextOf(Run<D>& run, const CheckedStage<D>& stage)
{
  const DeviceChoice& choice = stage.prepared.choice;
  run.summary.deviceReason = choice.reason;
  const bool textDecides = run.options.threadSource != "-threads" && stage.settings.threads() > 0;
  return makeContext(choice.device,
                     textDecides ? static_cast<int>(stage.settings.threads()) : run.options.threads);
}

template <int D>
StageInput<D> stageInput(const Run<D>& run, std::size_t stage, const LoadedInputs<D>& inputs)
{
  return {stage,       inputs.fixed,  inputs.moving,    inputs.fixedMasks, inputs.movingMasks,
          run.initial, inputs.points, inputs.hasPoints, &stopAsked()};
}

StageSummary describe(const Registry& registry, const StageText& text, const Parameters& parameters)
{
  StageSummary summary;
  summary.parameterFile = text.path;
  summary.parameters = effectiveParameters(registry, text.map);
  summary.transform = componentNames(parameters, "Transform").front();
  summary.optimizer = componentNames(parameters, "Optimizer").front();
  summary.metrics = componentNames(parameters, "Metric");
  return summary;
}

/// Writes the figures to the log, too. A transform without spatial derivatives does not end the run.
template <int D>
std::optional<VolumeChange> volumeChangeOf(Run<D>& run, const Context& context,
                                           const TransformChain<D>& chain, const LoadedInputs<D>& inputs,
                                           const Parameters& parameters)
{
  const std::string inVoxels = "FinalGridSpacingInVoxels";
  try {
    const MaskPointer<D> mask = inputs.fixedMasks.empty() ? nullptr : inputs.fixedMasks.front();
    const std::optional<VolumeChange> change =
        volumeChange<D>(context, run.registry, chain, inputs.fixed.front(), mask);
    if (change)
      run.log.info(change->text());
    if (change && change->folded > 0)
      run.log.warning(
          change->warning(componentNames(parameters, "Metric"),
                          parameters.has(inVoxels) ? inVoxels : "FinalGridSpacingInPhysicalUnits"));
    return change;
  } catch (const Error& error) {
    run.log.note(std::string("no determinants of the spatial Jacobian: ") + error.what());
    return {};
  }
}

/// Adds its files. A signal ends it early, and the stage's own results stay.
template <int D>
void tryToWriteInverse(Run<D>& run, const InverseRequest<D>& request, std::vector<std::string>& files)
{
  try {
    const auto written = writeInverseResults<D>(run.registry, request, run.log);
    files.insert(files.end(), written.begin(), written.end());
  } catch (const Interrupted&) { // the stage ends with it
  }
}

template <int D>
void runOneStage(Run<D>& run, CheckedStage<D> stage)
{
  const auto start = Clock::now();
  const StageText& text = stage.text;
  const std::size_t number = stage.number;
  RunLog& log = run.log;
  log.info("-------------------------------------------------------------------------");
  log.info("");
  log.info("Running elastix with parameter file " + std::to_string(number) + ": \"" + text.path + "\".");
  log.info("");
  log.info("Current time: " + currentTime() + ".");
  logOptions(run.options, run.folder, log);
  logParameterText(text, log);

  const Parameters parameters = stage.prepared.parameters;
  const StageSettings& settings = stage.settings;
  const ImageGeometry<D>& fixedInFile = run.asRead.fixed.images.front()->geometry;
  run.usesDirectionCosines = settings.useDirectionCosines();
  const LoadedInputs<D> inputs = inputsOfStage<D>(run.asRead, run.usesDirectionCosines);
  const StageInput<D> input = stageInput<D>(run, number, inputs);
  planAsRead<D>(run.registry, run.options, stage, input);
  Context context = contextOf(run, stage);
  run.summary.device = deviceName(context.device);
  run.summary.threads = context.threads;
  log.info("Device: " + run.summary.deviceReason + ", " + threadsText(context.threads) + ".");
  knowGpu(context, log);
  StageOutputs<D> outputs(run.registry,
                          {context, number, run.folder, run.initialPath, run.initialDigest,
                           inputs.fixed.front()->geometry, fixedInFile.direction, inputs.moving.front(),
                           inputs.validMoving, parameters, settings, *stage.resampler,
                           *stage.resampleInterpolator},
                          log);
  StageSummary summary = describe(run.registry, text, parameters);
  summary.device = run.summary.device;
  summary.deviceReason = run.summary.deviceReason;
  StageReporter<D> reporter(outputs,
                            "stage " + std::to_string(number + 1) + " of "
                                + std::to_string(run.options.parameterFiles.size()),
                            summary.optimizer, parameters.levelCount(), log);
  StageResult<D> result;
  try {
    result = runStage<D>(context, run.registry, std::move(stage.prepared), input, reporter);
    if (result.wasStopped)
      throw Interrupted{};
  } catch (const Interrupted&) {
    reporter.keepFinishedLevel();
    throw;
  }

  const auto writing = Clock::now();
  outputs.writeFinal(*result.chain);
  summary.volumeChange = volumeChangeOf<D>(run, context, *result.chain, inputs, parameters);
  if (number + 1 == run.options.parameterFiles.size())
    judgeResult<D>({run.registry, run.options, inputs, run.usesDirectionCosines, fixedInFile.direction,
                    run.asGiven.get(), result.chain.get(), context.threads},
                   run.summary, log);
  summary.writingSeconds = secondsSince(writing);
  if (settings.writeFinalTransform())
    logTransformFile(outputs.transformPath(), log);
  summary.levels = std::move(result.levels);
  summary.finalMetric = result.finalValue;
  summary.files = outputs.files();
  if (run.options.inverseToo && number + 1 == run.options.parameterFiles.size())
    tryToWriteInverse<D>(run,
                         {run.options, run.folder, result.chain, inputs.moving.front()->geometry,
                          run.asRead.moving.images.front()->geometry, text.map, *stage.resampler,
                          run.usesDirectionCosines, context.threads},
                         summary.files);
  summary.curves = reporter.metricOfLevels();
  summary.seconds = secondsSince(start);
  logStageEnd(text, summary, number, log);

  run.initial = result.chain;
  run.initialPath = outputs.transformPath();
  run.initialDigest = outputs.digest();
  run.summary.stages.push_back(std::move(summary));
  if (stopAsked()) // while the results were written
    throw Interrupted{};
}

template <int D>
std::shared_ptr<const TransformChain<D>> readInitial(const Registry& registry, const RegisterOptions& options,
                                                     RunLog& log)
{
  if (options.initialTransform.empty())
    return nullptr;
  if (!options.initialTransform.ends_with(".txt"))
    log.warning("-t0: " + options.initialTransform
                + ": transformix 5.0.1 cannot read the results that start from it.");
  const auto warn = [&log](const std::string& line) { log.warning(line); };
  return withContext("-t0", [&] { return readTransformChain<D>(options.initialTransform, registry, warn); });
}

std::string digestOfInitial(const RegisterOptions& options)
{
  return options.initialTransform.empty() || options.checkOnly ? ""
                                                               : transformDigest(options.initialTransform);
}

void checkPointsAreUsed(const RegisterOptions& options, const NeededPoints& needed, RunLog& log)
{
  if (options.fixedPoints.empty() || needed.landmarks)
    return;
  if (options.movingPoints.empty())
    throw Error(ExitCode::usage,
                "command line: -fp without -mp: points come in pairs. Allowed: both, none, or -fp alone with "
                "(Transform \""
                    + std::string(knowncomponents::landmarkTransform) + "\").");
  if (!needed.pairs)
    log.warning("-fp and -mp: no metric compares points, so they only measure the result. (Metric \""
                + std::string(knowncomponents::pointMetric) + "\") does.");
}

template <int D>
void tryToShowStart(Run<D>& run)
{
  try {
    const LoadedInputs<D> inputs = inputsOfStage<D>(run.asRead, run.usesDirectionCosines);
    showStart<D>({run.registry, run.options, inputs, run.usesDirectionCosines,
                  run.asRead.fixed.images.front()->geometry.direction, run.asGiven.get(), nullptr,
                  run.options.threads},
                 run.summary);
  } catch (const Error&) { // the run's own error is reported, not this one
  }
}

/// Whether the stages use the directions of the headers: true, false, or both.
template <int D>
std::vector<bool> directionsInUse(const std::vector<CheckedStage<D>>& stages)
{
  std::vector<bool> values;
  for (const bool uses : {true, false})
    if (std::ranges::any_of(
            stages, [uses](const CheckedStage<D>& s) { return s.settings.useDirectionCosines() == uses; }))
      values.push_back(uses);
  return values;
}

template <int D>
int checkAndRun(const Registry& registry, const RegisterOptions& options, const std::string& folder,
                const std::vector<StageText>& texts, const InputHeaders& headers, const InputFiles& files,
                RunSummary& summary, RunLog& log)
{
  NeededPoints needed;
  std::vector<CheckedStage<D>> stages;
  for (const StageText& text : texts) {
    stages.push_back(checkStage<D>(registry, options, text, stages.size(), headers, files, log));
    needed.pairs |= stages.back().needed.pairs;
    needed.landmarks |= stages.back().needed.landmarks;
  }
  checkPointsAreUsed(options, needed, log);
  const std::vector<bool> directions = directionsInUse<D>(stages);
  ReadPoints<D> points = loadPoints<D>(options);
  for (const bool uses : directions) {
    checkMasks<D>(headers, uses);
    warnOfPointsOutside<D>(options, headers, points, uses, log);
  }
  const auto mayHoldOthers = [](const ImageHeader& labels) {
    return pixelTypeSize(labels.componentType) > 2;
  };
  if (std::ranges::any_of(headers.labels, mayHoldOthers))
    checkLabels<D>(options);
  const std::shared_ptr<const TransformChain<D>> initial = readInitial<D>(registry, options, log);
  checkItkFiles<D>(stages, initial.get());
  if (!options.outputFolder.empty())
    checkDiskRoom<D>(stages, options.outputFolder, headers, log);
  Run<D> run{registry, options, folder, log, {}, true, initial, initial, options.initialTransform,
             {},       summary};
  run.initialDigest = digestOfInitial(options);
  const std::size_t pointPairs = points.fixed.values.size();
  if (options.checkOnly) {
    summary.predicted =
        chooseStageDevices<D>(registry, options, stages, headers, pointPairs, run.initial, log);
    log.info(
        "Checked " + std::to_string(stages.size()) + " parameter file" + (stages.size() == 1 ? "" : "s")
        + " and the headers of all images: nothing in them stands in the way. Voxels were not read: a "
          "mask that is empty or becomes so by erosion ends the run, and an image without contrast may.");
    return 0;
  }

  // A CUDA driver takes 0.2 s to start; images are read meanwhile. That there is no driver is known at once.
  auto devices = std::async(std::launch::async, [&] {
    chooseStageDevices<D>(registry, options, stages, headers, pointPairs, run.initial, log);
  });
  if (devices.wait_for(std::chrono::milliseconds(5)) == std::future_status::ready)
    devices.get();
  const auto reading = Clock::now();
  log.info("");
  log.info("Reading images...");
  run.asRead = loadInputs<D>(options, std::move(points), log);
  for (const bool uses : directions)
    checkMaskedVoxels<D>(options, run.asRead, uses);
  run.summary.readingSeconds = secondsSince(reading);
  log.info("Reading images took " + decimals(run.summary.readingSeconds * 1000, 0) + " ms.");
  log.info("");
  if (devices.valid())
    devices.get();
  summary.digests = std::async(std::launch::async, [&summary] { return digestsOf(summary); });
  watchSignals();
  try {
    for (CheckedStage<D>& stage : stages)
      runOneStage<D>(run, std::move(stage));
  } catch (const Error&) {
    tryToShowStart(run);
    throw;
  }

  // Large inputs take longer than their registration. A signal does not wait for them.
  while (summary.digests.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready)
    endIfStopIsAsked();
  log.info("Total time elapsed: " + decimals(secondsSince(summary.clock), 1) + "s.");
  log.info("");
  log.finish();
  return 0;
}

int readAndRun(const Registry& registry, const RegisterOptions& options, const std::string& folder,
               const InputFiles& files, RunSummary& summary, RunLog& log)
{
  const std::vector<StageText> stages = readStages(options.parameterFiles, log);
  summary.inputs = readHeaders(options, log);
  return summary.inputs.dimension() == 2
             ? checkAndRun<2>(registry, options, folder, stages, summary.inputs, files, summary, log)
             : checkAndRun<3>(registry, options, folder, stages, summary.inputs, files, summary, log);
}

/// Runs, and leaves a summary of the run whether it ends well or not.
int runWithSummary(const Registry& registry, const RegisterOptions& options, const std::string& command,
                   const std::string& folder, const InputFiles& files, const FileDigest& digestOfOne,
                   RunLog& log)
{
  RunSummary summary = startOfSummary(options, folder);
  summary.digestOfOne = digestOfOne;
  const auto write = [&] {
    summary.finished = currentTime();
    summary.seconds = secondsSince(summary.clock);
    summary.warnings = log.warnings();
    writeSummary(folder, summary);
  };
  std::optional<EndOnSignals> whileReading; // until watchSignals()
  if (options.endsAtOnce)
    whileReading.emplace([&options, &log](int) {
      const Failure failure = failureOf(std::make_exception_ptr(Interrupted{}));
      log.error(failure.message);
      recordFailure(options, failure);
    });
  logStart(log, command, "elastix");
  try {
    const int code = readAndRun(registry, options, folder, files, summary, log);
    write();
    return code;
  } catch (...) {
    summary.failure = failureOf(std::current_exception());
    summary.failedInput = inputNamedIn(summary.failure.message, files);
    try {
      write();
    } catch (const Error&) { // the run's own error is reported, not this one
    }
    throw;
  }
}

/// A path that transform parameter files will have to name. elastix reads a tab in a name as a blank.
void checkNameable(const std::string& option, const std::string& path)
{
  if (path.find_first_of("\"\t\n\r") != std::string::npos)
    throw Error(ExitCode::usage, "command line: " + option + ": " + path
                                     + ": no transform parameter file can hold a quote, a tab or a line "
                                       "break. Allowed: another name.");
}

void checkNames(const RegisterOptions& options)
{
  checkNameable("-t0", options.initialTransform);
  if (options.parameterFiles.size() > 1)
    checkNameable("-out", options.outputFolder);
}

void checkPointOptions(const RegisterOptions& options)
{
  if (options.fixedPoints.empty() && !options.movingPoints.empty())
    throw Error(ExitCode::usage,
                "command line: -mp without -fp: points come in pairs. Allowed: both, or none.");
  if (!options.pointWeights.empty() && (options.fixedPoints.empty() || options.movingPoints.empty()))
    throw Error(ExitCode::usage,
                "command line: --point-weights without pairs of points. Allowed: with -fp and "
                "-mp.");
}

void checkBeforeReading(const RegisterOptions& options)
{
  checkNames(options);
  checkPointOptions(options);
  limitDeviceMemory(options.maxDeviceMemory);
}

}

PredictedRun checkRegistration(const Registry& registry, const RegisterOptions& given, RunLog& log)
{
  RegisterOptions options = given;
  options.checkOnly = true;
  checkBeforeReading(options);
  RunSummary summary;
  readAndRun(registry, options, "", inputFilesOf(options), summary, log);
  return summary.predicted;
}

int runRegistration(const Registry& registry, const RegisterOptions& options, const std::string& command,
                    RunLog& log, const FileDigest& digestOfOne)
{
  if (options.checkOnly) {
    checkRegistration(registry, options, log);
    return 0;
  }
  try {
    checkBeforeReading(options);
  } catch (const Error&) {
    replaceRecord(options, failureOf(std::current_exception()));
    throw;
  }
  const InputFiles files = inputFilesOf(options);
  const std::string folder = prepareOutputFolder(options.outputFolder);
  checkInputsStay(files, folder, options.report);
  log.openFile(folder + logName);
  for (const std::string& name : namesOfRecord(options.report)) // they stand for another run
    std::remove((folder + name).c_str());
  return runWithSummary(registry, options, command, folder, files, digestOfOne, log);
}

}
