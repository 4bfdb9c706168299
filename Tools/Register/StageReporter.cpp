#include "Tools/Register/StageReporter.h"

#include "Core/Compute/Memory/DeviceMemory.h"
#include "Tools/Register/TimeTable.h"

namespace tessera {
namespace {

std::string row(const std::vector<std::string>& cells)
{
  std::string text;
  for (const std::string& cell : cells)
    text += (text.empty() ? "" : "\t") + cell;
  return text;
}

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
StageReporter<D>::StageReporter(StageOutputs<D>& outputs, const std::string& title,
                                const std::string& optimizer, std::size_t levels, Log& log)
    : outputs_(outputs), title_(title), optimizer_(optimizer), levels_(levels), log_(log)
{
}

template <int D>
void StageReporter<D>::pyramidImages(std::size_t level, const std::vector<ImagePointer<D>>& fixed,
                                     const std::vector<ImagePointer<D>>& moving)
{
  log_.info("");
  log_.info("Resolution: " + std::to_string(level));
  log_.progress(title_ + ", level " + std::to_string(level + 1) + " of " + std::to_string(levels_));
  outputs_.writePyramidImages(level, fixed, moving);
}

template <int D>
void StageReporter<D>::levelStarted(std::size_t, const std::vector<std::string>& header)
{
  header_ = header;
  iterationTable_.clear();
  metricOfLevels_.emplace_back();
}

template <int D>
void StageReporter<D>::iterationDone(std::size_t level, const IterationRecord& record,
                                     const typename Reporter<D>::ReachedChain& chainReached)
{
  if (iterationTable_.empty()) {
    iterationTable_ = row(header_) + "\n";
    log_.info(row(header_));
  }
  metricOfLevels_.back().push_back(record.value);
  const std::string cells = row(record.cells);
  iterationTable_ += cells + "\n";
  log_.info(cells);
  log_.progress(title_ + ", level " + std::to_string(level + 1) + " of " + std::to_string(levels_)
                + ", iteration " + std::to_string(record.iteration) + ", metric "
                + decimals(record.value, 6));
  if (outputs_.writesAfterIterations(level))
    outputs_.writeAfterIteration(level, record.iteration, chainReached());
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

}

template <int D>
void StageReporter<D>::levelFinished(const LevelSummary& summary, const TransformChain<D>& chain)
{
  const std::string level = std::to_string(summary.level);
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
  outputs_.writeAfterLevel(summary, iterationTable_, chain);
  finished_ = Finished{summary.level, chain, chain.transform->fileEntries()};
}

template <int D>
void StageReporter<D>::keepFinishedLevel()
{
  if (!finished_)
    log_.info("Interrupted before the first level was finished: nothing is kept of this stage.");
  else
    log_.info("Interrupted: level " + std::to_string(finished_->level) + " is kept as "
              + outputs_.writeTransform(levelSuffix(finished_->level), finished_->chain, &finished_->model));
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

template class StageReporter<2>;
template class StageReporter<3>;

}
