#pragma once

#include "Core/Registration/Registration.h"
#include "Tools/Common/Calibration.h"
#include "Tools/Register/StageCheck.h"

namespace tessera {

/// The most that a stage computes: all iterations of all levels, without the starts that optimizers try. A
/// stage that converges does less.
struct StageWork {
  int dimension = 3;
  bool isLinear = true;     // the transform: each sample moves with all parameters
  double evaluations = 0;   // of the cost, with its gradient
  double samples = 0;       // in all evaluations, of samplers that draw points
  double farSamples = 0;    // of them, those whose neighbourhood is probably in no cache
  double voxels = 0;        // in all evaluations, of samplers that take all voxels
  double parameters = 0;    // of the transform, in all evaluations
  double imageVoxels = 0;   // of the images, for pyramids and coefficients
  bool mayEndEarly = false; // the optimizer stops when it has converged
  double expectedShare = 1; // of evaluations, samples and voxels, which the stage probably does

  /// The work that the stage probably does.
  StageWork expected() const;
};

/// Goes by the headers of the images. Masks are taken as whole.
template <int D>
StageWork workOf(const Registry&, const CheckedStage<D>&, const StageInput<D>&);

/// Predicted seconds, reading and writing left out, and on CUDA with the start of the device. The rates are
/// those of one machine with an Intel Xeon and an H200, scaled by the calibration's.
double cpuSeconds(const Calibration&, const StageWork&, int threads);
double cudaSeconds(const Calibration&, const StageWork&);

/// The predicted time of a run, without reading and writing.
struct PredictedRun {
  double seconds = 0;
  bool onCuda = false;      // one stage at least
  bool mayEndEarly = false; // the seconds are the most that it takes
};

}
