#pragma once

#include "Core/Registry/Registry.h"
#include "Core/Runs/RunListener.h"
#include "Tools/Register/RegisterOptions.h"
#include "Tools/Register/StageOutputs.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// Writes elastix's log and files while a run goes on.
template <int D>
class RunWriter final : public RunListener<D> {
public:
  /// `initial` is the transform of -t0. Calls inputsRead once all voxels are read. `digests` gets those of
  /// the files of stages.
  RunWriter(const Registry&, const RegisterOptions&, std::string folder, InitialFile initial,
            std::function<void()> inputsRead, OutputDigests& digests, Log&);

  bool writesFiles() const override { return true; }
  void inputsRead() override { inputsRead_(); }
  void stageStarted(RunningStage<D>&) override;
  void pyramidImages(std::size_t level, const std::vector<ImagePointer<D>>& fixed,
                     const std::vector<ImagePointer<D>>& moving) override
  {
    log_.info("");
    log_.info("Resolution: " + std::to_string(level));
    log_.progress(progressText(level));
    outputs_->writePyramidImages(level, fixed, moving);
  }
  void levelStarted(std::size_t level, const std::vector<std::string>& header) override;
  void iterationDone(std::size_t level, const IterationRecord&,
                     const typename Reporter<D>::ReachedChain&) override;
  void levelFinished(const LevelSummary&, const TransformChain<D>&) override;
  /// Writes the transform of the last finished level under that level's name.
  void stageWasStopped() override;
  void transformFound(const ChainPointer<D>&) override;
  void resultMade(ResultImage<D>&) override;
  void resultJudged(StageSummary&) override;
  void stageFinished(const StageSummary&) override;

  /// The file of the last transform that is kept: at first that of -t0, or empty.
  const std::string& lastTransform() const { return initial_.path; }

private:
  std::string progressText(std::size_t level, const IterationRecord* = nullptr) const;
  void addFiles(StageSummary&, const std::function<std::vector<std::string>()>& write);

  const Registry& registry_;
  const RegisterOptions& options_;
  const std::string folder_;
  InitialFile initial_; // of the next stage
  std::function<void()> inputsRead_;
  OutputDigests& digests_;
  Log& log_;
  std::optional<StageOutputs<D>> outputs_; // of the stage that runs
  ChainPointer<D> chain_;
  std::chrono::steady_clock::time_point resampling_, iterating_;
  std::string optimizer_, iterationTable_;
  std::vector<std::string> header_;
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
