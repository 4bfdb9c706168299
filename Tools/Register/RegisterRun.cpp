#include "Tools/Register/RegisterRun.h"

#include "Core/Compute/Error.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"
#include "Core/Runs/OutputNames.h"
#include "Core/Runs/Run.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"
#include "Tools/Common/StoredMachine.h"
#include "Tools/Register/RunRecorder.h"
#include "Tools/Register/RunWriter.h"

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
      if (end != std::string::npos && name.substr(end) == ".txt" && !inputs.at(entry.path()))
        std::remove(entry.path().c_str());
    }
}

template <int D>
void execute(const Registry& registry, const RegisterOptions& options, const std::string& folder,
             const InputFiles& files, RunRecorder& recorder, Log& log)
{
  const StoredMachine machine;
  Run<D> run(registry, options.request, recorder.headers, log, machine);
  const auto inputsRead = [&] {
    recorder.startDigests();
    removeOldLevels(folder, options.request.stages.size(), files);
    watchSignals();
  };
  const auto filesWritten = [&](const std::vector<std::string>& paths) { recorder.outputsWritten(paths); };
  RunWriter<D> writer(registry, options, folder, initialFileOf(options.request), inputsRead, filesWritten,
                      log);
  try {
    run.execute(writer, stopAsked());
  } catch (...) {
    recorder.summary = run.takeSummary();
    throw;
  }
  recorder.summary = run.takeSummary();
}

}

RunPlan planOf(const Registry& registry, const RunRequest& request, Log& log)
{
  const StoredMachine machine;
  const InputHeaders headers = readHeaders(request, log);
  return headers.dimension() == 2 ? Run<2>(registry, request, headers, log, machine).plan()
                                  : Run<3>(registry, request, headers, log, machine).plan();
}

void checkRegistration(const Registry& registry, const RunRequest& request, Log& log)
{
  const RunPlan plan = planOf(registry, request, log);
  for (const std::string& line : plan.lines)
    log.info(line);
  for (const std::string& line : plan.details)
    log.detail(line);
  log.info("Checked " + std::to_string(plan.stages.size()) + " parameter file"
           + (plan.stages.size() == 1 ? "" : "s")
           + " and the headers of all images: nothing in them stands in the way. Voxels were not read: a "
             "mask that is empty or becomes so by erosion ends the run, and an image without contrast may.");
}

void runRegistration(const Registry& registry, const RegisterOptions& options, const std::string& command,
                     RunLog& log, bool endsAtOnce, const FileDigest& digestOfOne)
{
  const auto start = std::chrono::steady_clock::now();
  std::vector<RunInput> inputs = runInputsOf(options.request);
  const InputFiles files = inputFilesOf(inputs);
  const std::string folder = prepareOutputFolder(options.request.outputFolder);
  const bool hasPage = options.request.pictures;
  checkInputsStay(files, folder, hasPage);
  log.openFile(folder + logName);
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
  try {
    recorder.headers = readHeaders(options.request, files, log);
    recorder.headers.dimension() == 2 ? execute<2>(registry, options, folder, files, recorder, log)
                                      : execute<3>(registry, options, folder, files, recorder, log);
    // Large inputs take longer than their registration. A signal does not wait for them.
    while (!recorder.hasDigests())
      Stop(stopAsked()).endIfAsked();
    log.info("Total time elapsed: " + decimals(secondsSince(start), 1) + "s.");
    log.info("");
    log.finish();
    recorder.write({}, log.warnings());
  } catch (...) {
    try {
      recorder.write(failureOf(std::current_exception(), caughtSignal()), log.warnings());
    } catch (const Error&) { // the run's own error is reported, not this one
    }
    throw;
  }
}

}
