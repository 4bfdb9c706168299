#pragma once

#include "Core/Compute/Log.h"
#include "Core/Registration/Reporter.h"
#include "Tools/Register/StageOutputs.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// Writes elastix's log and files while a stage runs.
template <int D>
class StageReporter final : public Reporter<D> {
public:
  /// `title` is for the progress line: "stage 1 of 2".
  StageReporter(StageOutputs<D>& outputs, const std::string& title, const std::string& optimizer,
                std::size_t levels, Log&);

  void info(const std::string& line) override { log_.info(line); }
  void note(const std::string& line) override { log_.note(line); }
  void warning(const std::string& line) override { log_.warning(line); }
  void pyramidImages(std::size_t level, const std::vector<ImagePointer<D>>& fixed,
                     const std::vector<ImagePointer<D>>& moving) override;
  void levelStarted(std::size_t level, const std::vector<std::string>& header) override;
  void iterationDone(std::size_t level, const IterationRecord&,
                     const typename Reporter<D>::ReachedChain&) override;
  void levelFinished(const LevelSummary&, const TransformChain<D>&) override;

  /// After a stop: writes the transform of the last finished level under that level's name.
  void keepFinishedLevel();

  /// The value of the cost at each iteration of each level so far.
  const std::vector<std::vector<double>>& metricOfLevels() const { return metricOfLevels_; }

private:
  StageOutputs<D>& outputs_;
  std::string title_, optimizer_;
  std::size_t levels_;
  Log& log_;
  std::vector<std::string> header_;
  std::string iterationTable_;
  std::vector<std::vector<double>> metricOfLevels_;
  /// The result of a level. Its model is kept beside its chain, since the next level refines the transform
  /// that both chains share.
  struct Finished {
    std::size_t level = 0;
    TransformChain<D> chain;
    std::vector<FileEntry> model;
  };
  std::optional<Finished> finished_; // the last finished level
};

/// elastix's "( SP_a 241.100579 )" lines, with one value for each level.
std::vector<std::string> settingsLines(const std::vector<std::vector<FileEntry>>& settingsOfLevels);

}
