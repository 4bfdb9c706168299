#pragma once

#include "Core/Runs/Run.h"
#include "Tools/Python/Chain.h"
#include "Tools/Python/Work.h"
#include "Tools/Register/StageOutputs.h"

#include <string>
#include <vector>

namespace tessera::python {

/// What is kept of a stage until its files are written, if that is asked for.
template <int D>
struct KeptStage {
  std::size_t number = 0, count = 1;
  StageText text;
  Parameters parameters;
  StageSettings settings;
  ImageGeometry<D> fixed, moving, fixedInFile, movingInFile;
  Context host;
  std::vector<FileSection> sections; // of transform files
  std::vector<std::string> tables;   // of the iterations, one a level
  /// The result of a level, with its model, since the next level refines the transform that both share.
  struct Level {
    std::size_t level;
    TransformChain<D> chain;
    std::vector<FileEntry> model;
  };
  std::vector<Level> levels; // all, if their transforms are to be written; else the last one
  ChainPointer<D> chain;     // null: the stage was not finished
  ChainPointer<D> inverse;   // null: it is not asked for
  ResultImage<D> image;

  explicit KeptStage(const RunningStage<D>&);
};

/// The results of a registration.
class Found {
public:
  virtual ~Found() = default;

  virtual int dimension() const = 0;
  /// (chain, grid of the fixed image, grid of the moving image) of each stage, or of its last finished level.
  virtual nb::list chains() const = 0;
  /// Returns such a triple for the inverse of the last stage, from the moving image to the fixed one, or None
  /// if it was not asked for.
  virtual nb::object inverse() const = 0;
  /// (array, grid) of the last stage, which nobody must write to, since save() writes it; None: there is
  /// none. `owner` is the object of Python that has the results.
  virtual nb::object image(nb::handle owner) const = 0;
  virtual std::string record() const = 0;
  virtual std::string page() const = 0;
  /// The metric at each iteration, by stage and level.
  virtual std::vector<StageCurves> curves() const = 0;
  /// Writes images, transforms and tables as the program does.
  virtual void save(const std::string& folder, Log&) const = 0;
};

/// Listens to a run, keeps what it finds, and hands lines and progress on.
template <int D>
class FoundIn final : public Found, public RunListener<D> {
public:
  /// Without `keepsRun` only what an update asks for is kept: the result of each stage.
  FoundIn(WorkLog& log, bool takesPixelsOnCuda, bool keepsRun = true)
      : log_(&log), takesPixelsOnCuda_(takesPixelsOnCuda), keepsRun_(keepsRun)
  {
  }
  /// Gives the system what the run of large images has set free. The C library keeps arrays of up to 32 MB.
  ~FoundIn() override;
  FoundIn(const FoundIn&) = delete;
  FoundIn& operator=(const FoundIn&) = delete;

  /// Finds the inverse of the last stage, after it.
  void findInverse(Stop);
  /// To be called at the end of the run, whether or not it was stopped. The arrays of the request go.
  void finish(RunRequest, InputHeaders, RunSummary, RecordFacts);

  void stageStarted(RunningStage<D>&) override;
  void levelStarted(std::size_t level, const std::vector<std::string>& header) override;
  void iterationDone(std::size_t level, const IterationRecord&,
                     const typename Reporter<D>::ReachedChain&) override;
  void levelFinished(const LevelSummary&, const TransformChain<D>&) override;
  void transformFound(const ChainPointer<D>& chain) override { stages_.back().chain = chain; }
  bool takesPixelsOnCuda() const override { return takesPixelsOnCuda_; }
  void resultMade(ResultImage<D>& image) override { stages_.back().image = std::move(image); }

  int dimension() const override { return D; }
  nb::list chains() const override;
  nb::object inverse() const override;
  nb::object image(nb::handle owner) const override;
  std::string record() const override;
  std::string page() const override;
  std::vector<StageCurves> curves() const override { return summary_.curves(); }
  void save(const std::string& folder, Log&) const override;

private:
  InitialFile saveInitial(const std::string& folder, Log&) const;

  WorkLog* log_; // of the run; null once it has ended
  const bool takesPixelsOnCuda_, keepsRun_;
  std::vector<KeptStage<D>> stages_;
  std::vector<std::size_t> iterationsOfLevels_; // at most; the last one is that of all further levels
  Progress progress_;
  std::string header_;
  RunRequest request_;
  InputHeaders headers_;
  RunSummary summary_;
  RecordFacts facts_;
};

}
