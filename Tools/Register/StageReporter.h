#pragma once

#include "Core/Registration/Reporter.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Register/StageOutputs.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// Turns what a stage tells into elastix's log and files.
template <int D>
class StageReporter final : public Reporter<D> {
public:
  /// `title` is for the progress line: "stage 1 of 2".
  StageReporter(StageOutputs<D>& outputs, const std::string& title, const std::string& optimizer,
                std::size_t levels, RunLog&);

  void info(const std::string& line) override { log_.info(line); }
  void note(const std::string& line) override { log_.note(line); }
  void warning(const std::string& line) override { log_.warning(line); }
  void pyramidImages(std::size_t level, const std::vector<ImagePointer<D>>& fixed,
                     const std::vector<ImagePointer<D>>& moving) override;
  void levelStarted(std::size_t level, const std::vector<std::string>& header) override;
  bool readsChainOfIterations(std::size_t level) const override
  {
    return outputs_.writesAfterIterations(level);
  }
  void iterationDone(std::size_t level, const IterationRecord&, const TransformChain<D>&) override;
  void levelFinished(const LevelSummary&, const TransformChain<D>&) override;
  bool stopAsked() const override;

  /// After Interrupted: writes the transform of the last finished level under that level's name.
  void keepFinishedLevel();

private:
  StageOutputs<D>& outputs_;
  std::string title_, optimizer_;
  std::size_t levels_;
  RunLog& log_;
  std::vector<std::string> header_;
  std::string iterationTable_;
  /// A level's result; the next level refines the transform that its chain has.
  struct Finished {
    std::size_t level = 0;
    TransformChain<D> chain;
    std::vector<FileEntry> model;
  };
  std::optional<Finished> finished_; // the last one's
};

/// elastix's "( SP_a 241.100579 )" lines; of several levels, one value a level.
std::vector<std::string> settingsLines(const std::vector<std::vector<FileEntry>>& settingsOfLevels);

}
