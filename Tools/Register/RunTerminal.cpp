#include "Tools/Register/RunTerminal.h"

#include "Core/Compute/Log.h"
#include "Core/Runs/OutputNames.h"

#include <filesystem>

namespace tessera {
namespace {

/// The file of the stage whose name begins so; "none" if there is none.
std::string fileOf(const StageSummary& stage, const std::string& start)
{
  for (const std::string& file : stage.files)
    if (std::filesystem::path(file).filename().string().starts_with(start))
      return file;
  return "none";
}

std::string percent(double share)
{
  return decimals(100 * share, 1) + " %";
}

std::string figuresLine(const RunQuality& quality, const std::optional<VolumeChange>& change)
{
  const auto of = [](const std::optional<double>& value) { return value ? decimals(*value, 3) : "none"; };
  std::string text =
      "Overlap " + percent(quality.overlap) + " (before " + percent(quality.overlapBefore) + "), ";
  if (const auto& overTime = quality.overTime)
    text += "deviation over time " + percent(overTime->deviationPercent / 100) + " (before "
            + percent(overTime->deviationPercentBefore / 100) + ")";
  else
    text += "correlation " + of(quality.correlation) + " (before " + of(quality.correlationBefore) + ")";
  if (quality.labels)
    text += ", Dice " + decimals(quality.labels->meanDice, 3) + " (before "
            + decimals(quality.labels->meanDiceBefore, 3) + ")";
  if (quality.points)
    text += ", points " + decimals(quality.points->meanMm, 3) + " mm apart (before "
            + decimals(quality.points->beforeMm, 3) + " mm)";
  return text + (change ? ", folded voxels " + std::to_string(change->folded) : "");
}

}

std::string placeText(std::size_t stage, std::size_t stages, const std::string& parameterFile,
                      std::size_t level, std::size_t levels)
{
  return "stage " + std::to_string(stage + 1) + " of " + std::to_string(stages) + " ("
         + std::filesystem::path(parameterFile).stem().string() + "), level " + std::to_string(level + 1)
         + " of " + std::to_string(levels);
}

std::string levelText(const LevelSummary& level)
{
  return ": " + std::to_string(level.iterations) + " iterations, metric " + significant(level.startValue, 6)
         + " to " + significant(level.value, 6) + ", " + decimals(level.seconds, 1) + " s";
}

std::string warningsText(std::size_t count)
{
  return count == 0 ? "no warnings" : std::to_string(count) + (count == 1 ? " warning" : " warnings");
}

std::vector<std::string> resultLines(const RunSummary& run, const std::string& folder, bool hasPage,
                                     std::size_t warnings)
{
  const StageSummary& last = run.stages.back();
  const std::string number = std::to_string(run.stages.size() - 1);
  return {"Result image: " + fileOf(last, "result." + number + "."),
          "Transform:    " + fileOf(last, "TransformParameters." + number + "."),
          run.quality ? figuresLine(*run.quality, last.volumeChange) : "Not measured",
          "Done with " + warningsText(warnings)
              + (warnings == 0 ? "" : ", see above and " + folder + runName),
          "Look at:      " + folder + (hasPage ? "report.html" : logName) + ", " + folder + runName};
}

}
