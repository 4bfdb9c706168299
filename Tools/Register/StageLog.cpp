#include "Tools/Register/StageLog.h"

#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/JoinedText.h"
#include "Tools/Register/RunWriter.h"

#include <algorithm>

namespace tessera {
namespace {

template <class Source>
std::string orUnspecified(const std::vector<Source>& all, const std::string& what)
{
  const std::string text = joined(all, " ", [](const Source& given) { return given.path; });
  return text.empty() ? "unspecified, so " + what : text;
}

void logOptions(const RunRequest& request, const std::string& folder, Log& log)
{
  log.info("Command line options from ElastixBase:");
  log.info("-f        " + orUnspecified(request.fixed, ""));
  log.info("-m        " + orUnspecified(request.moving, ""));
  log.info("-fMask    " + orUnspecified(request.fixedMasks, "no fixed mask used"));
  log.info("-mMask    " + orUnspecified(request.movingMasks, "no moving mask used"));
  log.info("-out      " + folder);
  for (const StageText& stage : request.stages)
    log.info("-p        " + stage.path);
  log.info("-threads  " + std::to_string(request.threads) + " (" + request.threadSource + ")");
  log.info("");
  log.info("Command line options from TransformBase:");
  log.info("-t0       "
           + (request.initialTransform.isGiven() ? request.initialTransform.path
                                                 : "unspecified, so no initial transform used"));
}

void logFile(const std::string& what, const std::vector<std::string>& lines, Log& log)
{
  log.detail("");
  log.detail("=============== start of " + what + " ===============");
  for (const std::string& line : lines)
    log.detail(line);
  log.detail("=============== end of " + what + " ===============");
  log.detail("");
}

}

void logStageStart(const RegisterOptions& options, const StageText& text, std::size_t stage,
                   const std::string& folder, Log& log)
{
  log.info("-------------------------------------------------------------------------");
  log.info("");
  log.info("Running elastix with parameter file " + std::to_string(stage) + ": \"" + text.path + "\".");
  log.info("");
  log.info("Current time: " + currentTime() + ".");
  logOptions(options.request, folder, log);
  logFile("ParameterFile: " + text.path, linesOf(text.text), log);
}

std::vector<std::string> linesForLog(const std::vector<std::string>& pieces, const std::string& path)
{
  constexpr std::size_t longest = 2000;
  std::vector<std::string> lines;
  std::string line; // its beginning
  for (std::string_view piece : pieces)
    for (std::size_t end = 0; end != piece.npos && !piece.empty();) {
      end = piece.find('\n');
      line += piece.substr(0, std::min(end, longest + 1 - line.size()));
      if (end == piece.npos)
        continue;
      if (!line.starts_with(' ')) // numbers of a long list in TOML
        lines.push_back(line.size() <= longest ? line
                                               : line.substr(0, line.find(' ')) + " ...)   // see " + path);
      line.clear();
      piece.remove_prefix(end + 1);
    }
  return lines;
}

void logTransformFile(const std::vector<std::string>& lines, Log& log)
{
  logFile("TransformParameterFile", lines, log);
}

void logStageEnd(const StageSummary& summary, std::size_t stage, Log& log)
{
  log.info("");
  log.info("Final metric value  = " + decimals(summary.finalMetric, 6));
  std::vector<std::vector<FileEntry>> settings;
  for (const LevelSummary& level : summary.levels)
    settings.push_back(level.settings);
  const std::vector<std::string> lines = settingsLines(settings);
  if (!lines.empty())
    log.info("Settings of " + summary.optimizer + " for all resolutions:");
  for (const std::string& line : lines)
    log.info(line);
  log.info("");
  log.info("Time spent on saving the results, applying the final transform etc.: "
           + decimals(summary.writingSeconds * 1000, 0) + " ms.");
  log.info("Running elastix with parameter file " + std::to_string(stage) + ": \"" + summary.parameterFile
           + "\", has finished.");
  log.info("");
  log.info("");
  log.info("Current time: " + currentTime() + ".");
  log.info("Time used for running elastix with this parameter file:\n  " + decimals(summary.seconds, 1)
           + "s.");
  log.info("");
  log.info("-------------------------------------------------------------------------");
  log.info("");
}

}
