#pragma once

#include "Core/Registration/Reporter.h"
#include "Core/Runs/RunSummary.h"
#include "Core/Runs/StageImage.h"
#include "Core/Runs/StageSettings.h"

#include <cstddef>
#include <functional>

namespace tessera {

/// A stage while it runs.
template <int D>
struct RunningStage {
  std::size_t number = 0, count = 1; // from 0, of so many
  const StageText& text;
  const Parameters& parameters;
  const StageSettings& settings;
  const Resampler<D>& resampler;
  ImageGeometry<D> fixed, moving;             // as the stage works with them
  ImageGeometry<D> fixedInFile, movingInFile; // with the directions of the headers, which files get
  Context host;                               // the CPU, with the threads and the stop of the stage
  std::function<ResultImage<D>(const TransformChain<D>&)> resultOf; // resamples the moving image
};

/// Hears what a run does, in the run's thread, and writes what the parameters ask for. An exception ends the
/// run.
template <int D>
class RunListener : public Reporter<D> {
public:
  /// Whether it writes transforms, images and tables while the run goes on; if not, the run notes which of
  /// them parameters ask for.
  virtual bool writesFiles() const { return false; }

  virtual void inputsRead() {}
  /// The stage lives until stageFinished() or stageWasStopped() has returned.
  virtual void stageStarted(RunningStage<D>&) {}
  virtual void stageWasStopped() {}
  /// The last level has ended; the result image is made next.
  virtual void transformFound(const ChainPointer<D>&) {}
  /// Whether the result may be on the CUDA device that made it, and there alone.
  virtual bool takesPixelsOnCuda() const { return false; }
  /// The listener may take the pixels; the result of the run then has none.
  virtual void resultMade(ResultImage<D>&) {}
  /// The result is measured. `summary` gets the files.
  virtual void resultJudged(StageSummary&) {}
  virtual void stageFinished(const StageSummary&) {}
};

}
