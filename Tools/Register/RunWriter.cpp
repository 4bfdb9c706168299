#include "Tools/Register/RunWriter.h"

#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/Threads/Interruption.h"
#include "Core/Image/Checksum.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Runs/OutputNames.h"
#include "Tools/Register/InverseResults.h"
#include "Tools/Register/RunTerminal.h"
#include "Tools/Register/StageLog.h"
#include "Tools/Register/WarpedImages.h"

#include <cstdio>

#include <malloc.h>

namespace tessera {
namespace {

std::string valuesText(const FileEntry& entry)
{
  std::string text;
  for (const std::string& value : entry.texts)
    text += " " + value;
  for (const double value : entry.numbers)
    text += " " + decimals(value, 6);
  return text;
}

}

template <int D>
RunWriter<D>::RunWriter(const Registry& registry, const RegisterOptions& options, std::string folder,
                        InitialFile initial, std::function<void()> inputsRead, OutputDigests& digests,
                        Log& log)
    : registry_(registry), options_(options), folder_(std::move(folder)), initial_(std::move(initial)),
      inputsRead_(std::move(inputsRead)), digests_(digests), log_(log)
{
}

template <int D>
void RunWriter<D>::stageStarted(RunningStage<D>& stage)
{
  outputs_.emplace(registry_, stage, folder_, initial_, log_, &digests_);
  optimizer_ = componentNames(stage.parameters, "Optimizer").front();
  finished_.reset();
  logStageStart(options_, stage.text, stage.number, folder_, log_);
}

template <int D>
std::string RunWriter<D>::progressText(std::size_t level, const IterationRecord* reached) const
{
  const RunningStage<D>& stage = outputs_->stage();
  std::string text =
      placeText(stage.number, stage.count, stage.text.path, level, stage.parameters.levelCount());
  if (!reached)
    return text;
  const auto most =
      stage.parameters.withLabel("Optimizer0")
          .find(integerParameter("MaximumNumberOfIterations", 0, 0, Arity::perLevel, "", ""), level);
  text += ", iteration " + std::to_string(reached->iteration)
          + (most ? " of at most " + std::to_string(*most) : "") + ", metric "
          + significant(reached->value, 6);
  const auto done = static_cast<double>(reached->iteration + 1);
  if (most && reached->iteration > 0)
    text += ", at most " + decimals(secondsSince(iterating_) / done * (static_cast<double>(*most) - done), 0)
            + " s left in this level";
  return text;
}

template <int D>
void RunWriter<D>::levelStarted(std::size_t, const std::vector<std::string>& header)
{
  header_ = header;
  iterationTable_.clear();
  iterating_ = std::chrono::steady_clock::now();
}

template <int D>
void RunWriter<D>::iterationDone(std::size_t level, const IterationRecord& record,
                                 const typename Reporter<D>::ReachedChain& chainReached)
{
  if (iterationTable_.empty()) {
    iterationTable_ = joined(header_, "\t") + "\n";
    log_.info(joined(header_, "\t"));
  }
  const std::string cells = joined(record.cells(), "\t");
  iterationTable_ += cells + "\n";
  log_.info(cells);
  log_.progress(progressText(level, &record));
  if (outputs_->writesAfterIterations(level))
    outputs_->writeAfterIteration(level, record.iteration, chainReached());
}

namespace {

/// "Time of an evaluation of Metric0 on the GPU: transform 0.141 ms, ..., together 1.1 ms; the level took 60
/// (12 with gradient)."
std::string phasesLine(const LevelSummary& summary, std::size_t term)
{
  std::string text = "Time of an evaluation of Metric" + std::to_string(term) + " on the GPU: ";
  double together = 0;
  for (const Phase& phase : summary.phases[term]) {
    text += phase.name + " " + decimals(phase.milliseconds, 3) + " ms, ";
    together += phase.milliseconds;
  }
  return text + "together " + decimals(together, 3) + " ms; the level took "
         + std::to_string(summary.evaluations) + " (" + std::to_string(summary.evaluationsWithGradient)
         + " with gradient).";
}

/// Where the time of a level went: part, milliseconds, share, device; the total last.
std::vector<std::string> timeTableLines(const LevelSummary& summary)
{
  const double totalMs = 1000 * summary.seconds;
  std::vector<std::string> lines{
      "Time of resolution " + std::to_string(summary.level)
      + " by parts (evaluations are measured whole, and split as one that was timed part by part):"};
  const auto add = [&](const std::string& part, double ms, const std::string& device) {
    char line[128];
    std::snprintf(line, sizeof line, "  %-34s %12.3f ms %6.1f %%  %s", part.c_str(), ms,
                  totalMs > 0 ? 100 * ms / totalMs : 0, device.c_str());
    lines.emplace_back(line);
  };
  for (const TimeRow& row : summary.time)
    add(row.part, row.milliseconds, row.device);
  add("total", totalMs, "");
  while (lines.back().back() == ' ')
    lines.back().pop_back();
  return lines;
}

}

template <int D>
void RunWriter<D>::levelFinished(const LevelSummary& summary, const TransformChain<D>& chain)
{
  const std::string level = std::to_string(summary.level);
  log_.summary(progressText(summary.level) + levelText(summary));
  log_.info("Time spent in resolution " + level
            + " (ITK initialization and iterating): " + decimals(summary.seconds, 3) + " s.");
  log_.info("Stopping condition: " + summary.stopCondition);
  for (std::size_t term = 0; term < summary.phases.size(); ++term)
    if (!summary.phases[term].empty())
      log_.info(phasesLine(summary, term));
  for (const std::string& line : timeTableLines(summary))
    log_.info(line);
  if (summary.deviceBytesTaken > 0)
    log_.info("Device memory: at most " + memoryText(summary.deviceBytesTaken) + " were taken in resolution "
              + level + ".");
  if (!summary.settings.empty())
    log_.info("Settings of " + optimizer_ + " in resolution " + level + ":");
  for (const std::string& line : settingsLines({summary.settings}))
    log_.info(line);
  log_.info("");
  outputs_->writeAfterLevel(summary, iterationTable_, chain);
  finished_.reset();
  if (summary.level + 1 < outputs_->stage().parameters.levelCount())
    finished_ = Finished{summary.level, chain, chain.transform->fileEntries()};
}

template <int D>
void RunWriter<D>::stageWasStopped()
{
  std::string text = "Interrupted before the first level was finished: nothing is kept of this stage.";
  if (finished_) {
    initial_.path =
        outputs_->writeTransform(levelSuffix(finished_->level), finished_->chain, &finished_->model);
    text = "Interrupted: level " + std::to_string(finished_->level) + " is kept as " + initial_.path;
  }
  log_.info(text);
  log_.summary(text);
}

template <int D>
void RunWriter<D>::transformFound(const ChainPointer<D>& chain)
{
  chain_ = chain;
  outputs_->writeTransforms(*chain);
  digests_.read(outputs_->files());
  log_.info("");
  log_.info("Registration result checksum: " + std::to_string(resultChecksum(chain->parameters)));
  if (!outputs_->stage().resampler.writesFinalResult())
    return;
  resampling_ = std::chrono::steady_clock::now();
  log_.info("");
  log_.info("Applying final transform ...");
}

template <int D>
void RunWriter<D>::resultMade(ResultImage<D>& image)
{
  outputs_->writeResult("", image);
  digests_.read(outputs_->files());
  image.pixels.reset();
  if (options_.request.inverseToo)
    malloc_trim(0); // what was taken after the pixels may keep their room, which the inverse needs
  log_.info("  Applying final transform took " + decimals(secondsSince(resampling_), 2) + "s");
}

template <int D>
void RunWriter<D>::resultJudged(StageSummary& summary)
{
  const RunningStage<D>& stage = outputs_->stage();
  initial_ = outputs_->transformFile();
  if (stage.settings.writeFinalTransform)
    logTransformFile(outputs_->linesForLog(), log_);
  summary.files = outputs_->files();
  if (stage.number + 1 < stage.count)
    return;
  if constexpr (D < 4)
    if (options_.request.inverseToo)
      addFiles(summary, [&] {
        return writeInverseResults<D>(registry_, options_.request, stage, folder_, chain_, log_);
      });
  if (!options_.request.warped.empty() || !options_.request.warpedLabels.empty())
    addFiles(summary,
             [&] { return writeWarpedImages<D>(registry_, options_.request, stage, initial_.path, log_); });
}

/// A signal ends `write` early, and the stage's own results stay.
template <int D>
void RunWriter<D>::addFiles(StageSummary& summary, const std::function<std::vector<std::string>()>& write)
{
  try {
    const std::vector<std::string> written = write();
    summary.files.insert(summary.files.end(), written.begin(), written.end());
  } catch (const Interrupted&) { // the run ends with it
  }
}

template <int D>
void RunWriter<D>::stageFinished(const StageSummary& summary)
{
  logStageEnd(summary, outputs_->stage().number, log_);
}

std::vector<std::string> settingsLines(const std::vector<std::vector<FileEntry>>& settingsOfLevels)
{
  std::vector<std::string> lines;
  if (settingsOfLevels.empty())
    return lines;
  for (std::size_t i = 0; i < settingsOfLevels.front().size(); ++i) {
    std::string line = "( " + settingsOfLevels.front()[i].name;
    for (const std::vector<FileEntry>& settings : settingsOfLevels)
      line += i < settings.size() ? valuesText(settings[i]) : "";
    lines.push_back(line + " )");
  }
  return lines;
}

TESSERA_INSTANTIATE_CLASS_TO_4(RunWriter);

}
