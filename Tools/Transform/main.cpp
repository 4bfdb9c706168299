#include "Components/RegisterComponents.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Math/WithConstant.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/Reporter.h"
#include "Core/Runs/Resampling/ResultFiles.h"
#include "Core/Runs/Transforming/TransformInputs.h"
#include "Core/Runs/Transforming/TransformRun.h"
#include "Tools/Common/AsElastix.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/RunFolder.h"
#include "Tools/Common/Signals.h"
#include "Tools/Common/StoredMachine.h"
#include "Tools/Transform/TransformDescription.h"
#include "Tools/Transform/TransformRecord.h"

#include <chrono>
#include <optional>

using namespace tessera;

namespace {

std::vector<std::string> pathsOf(const std::vector<GivenTransform>& transforms)
{
  std::vector<std::string> paths;
  for (const GivenTransform& transform : transforms)
    paths.push_back(transform.path);
  return paths;
}

/// Writes transformix's files while a run goes on, and tells the record of them.
template <int D>
class TransformWriter final : public TransformSink<D> {
public:
  TransformWriter(const Registry& registry, const TransformOptions& options, TransformRecord& record,
                  Log& log)
      : registry_(registry), options_(options), request_(options.request), folder_(folderOf(request_)),
        record_(record), log_(log)
  {
  }

  void planned(const TransformPlan& plan) override
  {
    files_.emplace(folder_, plan.settings, &record_.digestsOfOutputs);
    record_.tell([&](TransformRecord::Found& found) {
      found.device = deviceName(plan.device.choice.device);
      found.deviceReason = plan.device.choice.reason;
    });
    for (const ResultToWrite& result : plan.results)
      record_.addOutputs({result.files.front()});
  }

  void describe([[maybe_unused]] Context& cpu, [[maybe_unused]] const TransformChain<D>& chain,
                [[maybe_unused]] const ImageGeometry<D>& lattice) override
  {
    if constexpr (D < 4)
      writeDescription(cpu, chain, lattice);
  }

  void writeDescription(Context& cpu, const TransformChain<D>& chain, const ImageGeometry<D>& lattice)
  {
    const TransformDescription description = describeTransform<D>(cpu, registry_, chain, lattice);
    for (const std::string& line : description.lines)
      log_.info(line);
    const std::string path = folder_ + descriptionName;
    writeTextFile(path, description.json);
    log_.info("  The description is saved in: " + path);
  }

  void pointsMapped(const InputPoints<D>& input, const MappedPoints<D>& mapped) override
  {
    const std::string path = folder_ + nameOfOutputPoints(request_.points.path);
    record_.addOutputs({path});
    record_.tell([&](TransformRecord::Found& found) { found.pointsOutside = mapped.outside; });
    const std::string kind = kindOfPointsFile(path);
    writeTextFile(path, kind == "vtk"   ? outputPointsVtk<D>(mapped.outputMm, input)
                        : kind == "bin" ? outputPointsBinary<D>(mapped, input.areIndices && mapped.fixedGrid)
                                        : outputPointsText<D>(mapped));
    log_.info("  The transformed points are saved in: " + path);
  }

  void fieldMade(const FieldAskedFor& asked, VectorImage<D> field) override
  {
    writeVectorImage<D>(files_->pathOf(asked.stem), field, files_->settings.compress, request_.threads);
  }

  void transformFound([[maybe_unused]] Context& cpu,
                      [[maybe_unused]] const TransformOutput<D>& output) override
  {
    if constexpr (D < 4)
      writeFound(cpu, output);
  }

  void writeFound(Context& cpu, const TransformOutput<D>& output)
  {
    const std::string what = request_.inverse ? "inverse" : "transform";
    log_.info("Writing the " + what + ", computed on the CPU ...");
    const auto start = std::chrono::steady_clock::now();
    auto files = writeTransform<D>(cpu, registry_, output, log_);
    if (const auto& name = options_.bidsName) {
      writeTextFile(name->sidecar, bidsSidecarText(*name, pathsOf(request_.transforms)));
      files.push_back(name->sidecar);
    }
    record_.addOutputs(files, true);
    log_.info("  The " + what + " is saved in: " + joined(files) + "; it took "
              + decimals(secondsSince(start), 2) + "s");
  }

  void imagesStarted(std::size_t count) override
  {
    log_.info(count == 1 ? "Resampling image and writing to disk ..."
                         : "Resampling " + std::to_string(count) + " images and writing to disk ...");
  }
  ResultSink<D>& images() override { return *files_; }
  void imageMade(const ImageTask& task, double outside) override
  {
    record_.tell(
        [&](TransformRecord::Found& found) { found.outside.emplace_back(task.input.path, outside); });
  }
  void timeFound(const std::vector<TimeRow>& time) override
  {
    record_.tell([&](TransformRecord::Found& found) { found.time = time; });
  }

private:
  const Registry& registry_;
  const TransformOptions& options_;
  const TransformRequest& request_;
  const std::string folder_;
  TransformRecord& record_;
  Log& log_;
  std::optional<ResultFiles<D>> files_; // once it is planned
};

/// Whether the run writes no file in its output folder but the log and the record.
bool writesNamedFilesAlone(const TransformRequest& request)
{
  return !request.write.empty() && !hasImages(request) && !request.points.isGiven() && !hasFields(request)
         && !request.description;
}

template <int D>
ExitCode execute(const Registry& registry, const TransformOptions& options, TransformRecord& record, Log& log)
{
  const StoredMachine machine;
  TransformWriter<D> writer(registry, options, record, log);
  return TransformRun<D>(registry, options.request, log, machine).execute(writer);
}

/// Calls `read`, which reads the command line. If that is wrong, a record in the output folder tells so.
template <class Read>
auto orRecorded(const std::string& commandLine, const std::string& folder, const Read& read)
{
  try {
    return read();
  } catch (const Error&) {
    TransformRecord::replace(folder, commandLine, failureOf(std::current_exception(), caughtSignal()));
    throw;
  }
}

int runTransform(const Registry& registry, TransformOptions options, const std::string& command, RunLog& log)
{
  const auto start = std::chrono::steady_clock::now();
  TransformRequest& request = options.request;
  if (request.maxMemory > 0)
    giveFreedMemoryBack();
  const std::string folder = prepareOutputFolder(request.outputFolder);
  orRecorded(options.commandLine, folder, [&] { readImageLists(request); });
  const InputFiles inputs = inputFilesOf(request);
  inputs.checkStayBesideLog(folder + "transformix.log");
  TransformRecord::checkStay(inputs, folder);
  log.openFile(folder + "transformix.log",
               writesNamedFilesAlone(request) ? FolderUse::shared : FolderUse::alone);
  const bool isForPerson = !isElastixName(programName(command.c_str())) && !log.isVerbose();
  log.setShowsTables(!isForPerson);
  logStart(log, command, "transformix");
  log.info("Running transformix with parameter file \"" + joined(pathsOf(request.transforms)) + "\".");
  log.info("");
  log.setShowsTables(true);
  TransformRecord record(options, folder);
  return record.recorded(log, [&] {
    if (options.bidsName)
      inputs.checkStay("--write", filesOfResult(options.bidsName->sidecar));
    const ExitCode code = withConstant<2, 4>(static_cast<int>(dimensionOf(request)), [&]<int D>() {
      return execute<D>(registry, options, record, log);
    });
    log.setShowsTables(!isForPerson);
    log.info("");
    log.info("transformix has finished at " + currentTime() + ".");
    log.info("Total time elapsed: " + decimals(secondsSince(start), 1) + "s.");
    log.info("");
    log.finish();
    return static_cast<int>(code);
  });
}

int run(int count, char** words, RunLog& log)
{
  const std::vector<std::string> tokens(words + 1, words + count);
  const std::string name = programName(words[0]), commandLine = commandLineText(words[0], tokens);
  const bool asElastix = isElastixName(name);
  const ProgramText program = transformText(asElastix);
  const std::vector<std::string> operands(asElastix ? 0 : 1, "in"); // as for tessera
  const Arguments arguments = orRecorded(commandLine, outputFolderIn(tokens),
                                         [&] { return parseCommandLine(program.groups, tokens, operands); });
  if (count == 1 && asElastix)
    return printText(elastixHint(name));
  if (count == 1 || arguments.has("help"))
    return printText(asElastix ? elastixHelp(name, program)
                               : helpText(program) + "A word without an option is -in.\n");
  if (const std::string text = versionText(arguments, asElastix ? name : "tessera-transform"); !text.empty())
    return printText(text);

  TransformOptions options = orRecorded(commandLine, outputFolderIn(tokens), [&] {
    setVerbosity(arguments, log);
    setPriority(arguments, log);
    TransformOptions given = transformOptions(arguments, asElastix);
    given.commandLine = commandLine;
    given.request.threads = threadCount(arguments, &given.threadSource);
    return given;
  });
  if (arguments.text("threads") == "0")
    log.note(options.threadSource + ": " + threadsText(options.request.threads) + ".");
  for (const GivenTransform& transform : options.request.transforms)
    if (const std::string later = laterStagesThan(transform.path); !asElastix && !later.empty())
      log.note("-tp: " + later + ".");
  if (arguments.has("ipp"))
    log.warning("-ipp is an older name of -def; use -def.");
  Registry registry;
  registerComponents(registry);
  return runTransform(registry, std::move(options), words[0], log);
}

}

int main(int count, char** words)
{
  return runProgram(
      [&](RunLog& log) {
        const EndOnSignals ending(log, [](int signal) { TransformRecord::writeInterrupted(signal); });
        return run(count, words, log);
      },
      elastixFailureLine(words[0]));
}
