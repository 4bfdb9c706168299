#include "Components/RegisterComponents.h"
#include "Core/Compute/Memory/Memory.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"
#include "Tools/Follow/FollowRun.h"
#include "Tools/Follow/UpdateLines.h"
#include "Tools/Register/SeriesRun.h"

#include <nlohmann/json.hpp>

#include <filesystem>

using namespace tessera;

namespace {

/// Old updates in the output folder are removed, and new ones must not be taken for images.
void checkFolders(const FollowOptions& options)
{
  namespace fs = std::filesystem;
  const auto liesInside = [&](const std::string& path) {
    const fs::path beside =
        fs::weakly_canonical(path).lexically_relative(fs::weakly_canonical(options.outFolder));
    return !beside.empty() && *beside.begin() != "..";
  };
  for (const auto& [option, path] :
       {std::pair{"-t0", options.request.initialTransform.path}, {"--watch", options.watched}})
    if (!path.empty() && liesInside(path))
      failCommandLine(std::string(option) + " " + path, "it lies in the folder of -out, " + options.outFolder,
                      "another folder for results");
}

int followSeries(const Registry& registry, const FollowOptions& options, RunLog& log)
{
  const EndOnSignals ending(log);
  UpdateLines lines;
  const SeriesOutcome found = runSeries(
      registry,
      {options.request, options.series, options.outFolder, options.reference, options.order,
       options.write == "all", options.hasPage ? "series.html" : "", options.lastAxisIsTime},
      [&lines](const nlohmann::ordered_json& line) { lines.put(line); }, log);
  const SeriesFigures& figures = found.figures;
  return static_cast<int>(figures.failed == figures.volumes ? ExitCode::unreadableInput
                          : figures.failed == 0             ? ExitCode::done
                                                            : ExitCode::someRowsFailed);
}

int run(std::vector<std::string> tokens, RunLog& log)
{
  const ProgramText text = followText();
  const Arguments arguments = parseCommandLine(text.groups, tokens);
  if (arguments.has("help") || tokens.empty())
    return printText(helpText(text));
  if (const std::string version = versionText(arguments, "tessera-follow"); !version.empty())
    return printText(version);
  setVerbosity(arguments, log);
  setPriority(arguments, log);
  FollowOptions options = followOptions(arguments);
  options.request.threads = threadCount(arguments, &options.request.threadSource);
  options.outFolder = prepareOutputFolder(options.outFolder);
  checkFolders(options);
  log.openFile(options.outFolder + "follow.log");
  log.setConsoleLevel(LogLevel::warning); // standard output is for the lines of updates alone
  Registry registry;
  registerComponents(registry);
  if (!options.series.empty())
    return followSeries(registry, options, log);
  keepFreedMemory();
  watchSignals();
  return followImages(registry, options, log);
}

}

int main(int count, char** words)
{
  return runProgram([&](RunLog& log) { return run({words + 1, words + count}, log); });
}
