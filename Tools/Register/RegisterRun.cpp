#include "Tools/Register/RegisterRun.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Math/WithConstant.h"
#include "Core/Image/Slices/VolumeReader.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"
#include "Core/Runs/Following/Series.h"
#include "Core/Runs/HeaderNotes.h"
#include "Core/Runs/OutputNames.h"
#include "Core/Runs/Prediction/MeasuredTime.h"
#include "Tools/Common/AsElastix.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/RunFolder.h"
#include "Tools/Common/Signals.h"
#include "Tools/Common/StoredMachine.h"
#include "Tools/Register/PageOfResult.h"
#include "Tools/Register/RunRecorder.h"
#include "Tools/Register/RunTerminal.h"
#include "Tools/Register/RunWriter.h"
#include "Tools/Register/SeriesRun.h"
#include "Tools/Register/WarpedImages.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>

namespace tessera {
namespace {

InitialFile initialFileOf(const RunRequest& request)
{
  const std::string& path = request.initialTransform.path;
  return {path, path.empty() ? "" : transformDigest(path)};
}

/// Removes what an earlier run has kept of its levels, which would look like levels of this one.
void removeOldLevels(const std::string& folder, std::size_t stages, const InputFiles& inputs)
{
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    for (std::size_t stage = 0; stage < stages; ++stage) {
      const std::string name = entry.path().filename(),
                        start = "TransformParameters." + std::to_string(stage) + ".R";
      const std::size_t end =
          name.starts_with(start) ? name.find_first_not_of("0123456789", start.size()) : std::string::npos;
      const std::string extension = end == std::string::npos ? "" : name.substr(end);
      if ((extension == ".txt" || extension == ".toml") && !inputs.at(entry.path()))
        std::remove(entry.path().c_str());
    }
}

/// Results of an earlier run with more stages look like later stages of this one. `before`: its transforms.
void warnOfLaterStages(const std::vector<std::string>& before, std::size_t stages, Log& log)
{
  std::string older;
  for (std::size_t stage = stages; stage < before.size(); ++stage)
    if (std::filesystem::exists(before[stage]))
      older += (older.empty() ? "" : ", ") + before[stage];
  if (!older.empty())
    log.warning("-out: " + older + ": older than this run, which has "
                + (stages == 1 ? "one stage" : std::to_string(stages) + " stages")
                + ". They stay with the results of their stages. Remedy: another folder for each run.");
}

/// Whether voxels are Hounsfield's units with air around: least in -3100 to -900, and 5 % near -1000.
template <int D>
bool isCt(const Image<D>& image)
{
  const auto isAir = [](float value) { return std::abs(value + 1000) <= 50; };
  const float least = *std::ranges::min_element(image.voxels);
  return least >= -3100 && least <= -900
         && static_cast<double>(std::ranges::count_if(image.voxels, isAir))
                >= 0.05 * static_cast<double>(image.voxels.size());
}

/// Says which stages a preset has. If the moving image is CT, air surrounds it in their results.
template <int D>
RunRequest withPreset(const RegisterOptions& options, Log& log)
{
  RunRequest request = options.request;
  if (options.preset.empty())
    return request;
  std::vector<std::string> stages, notes;
  for (const StageText& stage : request.stages)
    stages.push_back(std::filesystem::path(stage.path).stem());
  std::string text = "--preset " + options.preset + ": " + joined(stages)
                     + ". --list-presets tells others, and -p FILE takes parameter files.";
  try {
    const GivenImage& moving = request.moving.front();
    if (isCt<D>(readImage<D>(moving.path, request.reading, notes, request.threads).image)) {
      text += " The moving image is CT: what lies outside of it becomes -1000, air.";
      for (StageText& stage : request.stages)
        stage.map = withDefaultPixelValue(stage.map, -1000);
    }
  } catch (const Error&) { // the run reads the image again and tells it
  }
  log.note(text);
  return request;
}

template <int D>
void execute(const Registry& registry, const RegisterOptions& options, const std::string& folder,
             const InputFiles& files, RunRecorder& recorder, Log& log)
{
  const StoredMachine machine;
  Run<D> run(registry, withPreset<D>(options, log), recorder.headers, log, machine);
  const auto inputsRead = [&] {
    recorder.digestsOfInputs.start();
    removeOldLevels(folder, options.request.stages.size(), files);
    watchSignals();
  };
  RunWriter<D> writer(registry, options, folder, initialFileOf(options.request), inputsRead,
                      recorder.digestsOfOutputs, log);
  try {
    run.execute(writer, stopAsked());
  } catch (...) {
    recorder.summary = run.takeSummary();
    recorder.lastTransform = writer.lastTransform();
    throw;
  }
  recorder.summary = run.takeSummary();
}

/// Throws Error if a volume has no result; what was found for the others is written.
void executeSeries(const Registry& registry, const RunRequest& request, const std::string& folder,
                   RunRecorder& recorder, Log& log)
{
  const std::string& path = request.moving.front().path;
  recorder.headers.moving = {readHeaderAndTell("-m", request.moving.front(), request.reading, log)};
  for (const GivenImage& fixed : request.fixed)
    recorder.headers.fixed.push_back(readHeaderAndTell("-f", fixed, request.reading, log));
  recorder.digestsOfInputs.start();
  watchSignals();
  SeriesOptions options{request, path, folder, request.seriesReference};
  options.request.moving.clear();
  options.pageName = request.pictures ? pageName : "";
  SeriesOutcome found = runSeries(registry, options, {}, log, stopAsked());
  recorder.digestsOfOutputs.read(found.files);
  RunSummary& summary = recorder.summary;
  summary.device = found.device;
  summary.threads = request.threads;
  summary.series = found.figures;
  for (const StageText& stage : request.stages) {
    summary.stages.emplace_back().parameterFile = stage.path;
    summary.stages.back().device = found.device;
  }
  summary.stages.back().files = std::move(found.files);
  if (found.figures.failed > 0)
    throw Error(ExitCode::unreadableInput, "-m: " + path + ": " + std::to_string(found.figures.failed)
                                               + " of " + std::to_string(found.figures.volumes)
                                               + " volumes have no result; " + found.firstFailure);
}

/// What each volume of a series takes: a run of the first one to the reference, or to itself.
RunPlan planOfSeries(const Registry& registry, RunRequest request, Log& log)
{
  VolumeReader<3> volumes(request.moving.front().path, request.reading, request.threads);
  request.moving = {{volumes.header().path, HeldImage<3>(volumes.read(0, request.threads))}};
  if (request.fixed.empty())
    request.fixed = request.moving;
  const double times = static_cast<double>(volumes.volumes()) * (request.seriesReference == "mean" ? 2 : 1),
               bytes = 8.0 * static_cast<double>(volumes.volumes() * volumes.geometry().voxelCount());
  request.seriesReference.clear();
  RunPlan plan = planOf(registry, request, log);
  for (double* const seconds : {&plan.times.reading, &plan.times.stages, &plan.times.writing})
    *seconds *= times;
  plan.host.images += std::min(bytes, bytesOfSeries);
  return plan;
}

}

RunPlan planOf(const Registry& registry, const RunRequest& request, Log& log)
{
  if (!request.seriesReference.empty())
    return planOfSeries(registry, request, log);
  const StoredMachine machine;
  const InputHeaders headers = readHeaders(request, log);
  return withConstant<2, 4>(headers.dimension(),
                            [&]<int D>() { return Run<D>(registry, request, headers, log, machine).plan(); });
}

void checkRegistration(const Registry& registry, const RunRequest& request, bool measuresTime, Log& log)
{
  const RunPlan plan = planOf(registry, request, log);
  for (const std::string& line : plan.lines)
    log.info(line);
  if (measuresTime) {
    const StoredMachine machine;
    const InputHeaders headers = readHeaders(request, log);
    log.info(withConstant<2, 4>(headers.dimension(), [&]<int D>() {
      return measuredTimeText<D>(registry, request, headers, plan, machine);
    }));
  }
  log.info("Checked " + std::to_string(plan.stages.size()) + " parameter file"
           + (plan.stages.size() == 1 ? "" : "s")
           + " and the headers of all images: " + warningsText(log.warnings().size()) + "; the run can start."
           + (measuresTime
                  ? ""
                  : " Voxels were not read: a mask that is empty or becomes so by erosion ends the "
                    "run, and so do two images in place of a series; an image without contrast may."));
}

void runRegistration(const Registry& registry, const RegisterOptions& options, const std::string& command,
                     RunLog& log, bool endsAtOnce, const FileDigest& digestOfOne)
{
  const auto start = std::chrono::steady_clock::now();
  std::vector<RunInput> inputs = runInputsOf(options.request);
  const InputFiles files = inputFilesOf(inputs);
  const std::string folder = prepareOutputFolder(options.request.outputFolder);
  const bool hasPage = options.request.pictures, isSeries = !options.request.seriesReference.empty();
  checkInputsStay(files, folder, hasPage);
  log.openFile(folder + logName);
  const bool asElastix = isElastixName(programName(command.c_str()));
  if (!asElastix && !log.isVerbose())
    log.setShowsTables(false);
  const std::vector<std::string> before = transformsOfStages(folder);
  for (const std::string& name : namesOfRecord(hasPage)) // they stand for another run
    std::remove((folder + name).c_str());
  RunRecorder recorder(options, folder, std::move(inputs), digestOfOne);
  std::optional<EndOnSignals> whileReading; // until watchSignals()
  if (endsAtOnce)
    whileReading.emplace([&options, &log](int) {
      const Failure failure = failureOf(std::make_exception_ptr(Interrupted{}), caughtSignal());
      log.error(failure.message);
      recordFailure(options, failure);
    });
  logStart(log, command, "elastix");
  warnOfLaterStages(before, options.request.stages.size(), log);
  try {
    if (isSeries) {
      executeSeries(registry, options.request, folder, recorder, log);
    } else {
      checkWarpedImages(options.request);
      recorder.headers = readHeaders(options.request, files, log);
      withConstant<2, 4>(recorder.headers.dimension(),
                         [&]<int D>() { execute<D>(registry, options, folder, files, recorder, log); });
    }
    // Large inputs take longer than their registration. A signal does not wait for them.
    while (!recorder.digestsOfInputs.areFound())
      Stop(stopAsked()).endIfAsked();
    log.info("Total time elapsed: " + decimals(secondsSince(start), 1) + "s.");
    log.info("");
    log.finish();
    const std::vector<std::string> lines =
        resultLines(recorder.summary, folder, hasPage, log.warnings().size());
    recorder.write({}, log.warnings());
    for (const std::string& line : lines)
      log.summary(line);
  } catch (...) {
    try {
      const Failure failure = failureOf(std::current_exception(), caughtSignal());
      const bool hasMemory = failure.code != static_cast<int>(ExitCode::outOfMemory);
      if (hasPage && !isSeries && !recorder.summary.pictures && hasMemory)
        recorder.summary.pictures = picturesOfEnd(registry, options.request, recorder.lastTransform);
      recorder.write(failure, log.warnings());
    } catch (const Error&) { // the run's own error is reported, not this one
    }
    throw;
  }
}

}
