#pragma once

#include "Core/Registration/OptimizableTransform.h"
#include "Core/Registration/Registration.h"
#include "Core/Runs/Prediction/ResamplingWork.h"
#include "Core/Runs/StageCheck.h"

#include <vector>

namespace tessera {

/// The work of a term of the cost in one evaluation with its gradient.
struct TermWork {
  double samples = 0;                     // drawn points at which it compares the images
  double voxels = 0;                      // positions of a lattice at which it compares them
  double points = 0;                      // that it maps one by one on the CPU
  double cudaSamples = 0, cudaVoxels = 0; // beside `samples` and `voxels`, on CUDA
  double imageVoxels = 0;                 // of the level's fixed image
  double stripes = 1;                     // parts into which the CPU's threads cut the work
  double cpuNanoseconds = 0, cudaNanoseconds = 0, cudaLaunchNanoseconds = 0; // see TermTime
};

/// The most that a level computes.
struct LevelWork {
  double evaluations = 0; // of the cost
  double gradients = 0;   // of them, those with the gradient
  double parameters = 0;  // of the transform
  std::vector<TermWork> terms;
};

/// The most that a stage computes: its start by search, all iterations of all levels without the steps that
/// optimizers try before the first one, and the result image. A stage that converges does less.
struct StageWork {
  int dimension = 3;
  bool isLinear = true; // the transform: each sample moves with all parameters
  std::vector<LevelWork> levels;
  std::vector<SearchPart> search; // for the start, on the CPU whatever the device; empty: none
  double imageVoxels = 0;         // of the images, for pyramids and coefficients
  DeviceWork result;              // the result image, without writing it
  bool mayEndEarly = false;       // the optimizer or the level stops when it has converged
  double expectedShare = 1;       // of the evaluations, which the stage probably does

  /// The work that the stage probably does.
  StageWork expected() const;
};

/// Goes by the headers of the images. Masks are taken as whole. A stage that has an initial transform
/// searches for no start. `after` is its chain (chainAfter).
template <int D>
StageWork workOf(const Registry&, const CheckedStage<D>&, const StageInput<D>&,
                 const std::shared_ptr<const TransformChain<D>>& after);

/// Predicted seconds, without reading and writing files, and without the start of a CUDA device. They go by
/// the rates of one machine (StageTime.cpp), scaled by the calibration's.
double cpuSeconds(const Calibration&, const StageWork&, int threads);
double cudaSeconds(const Calibration&, const StageWork&, int threads);

}
