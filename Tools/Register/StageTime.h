#pragma once

#include "Core/Registration/Registration.h"
#include "Tools/Register/StageCheck.h"

namespace tessera {

/// The most that a stage computes: all iterations of all levels, without the starts that optimizers try. A
/// stage that converges does less.
struct StageWork {
  bool isLinear = true;   // the transform: each sample moves with all parameters
  double evaluations = 0; // of the cost, with its gradient
  double samples = 0;     // in all evaluations, of samplers that draw points
  double voxels = 0;      // in all evaluations, of samplers that take all voxels
  double imageVoxels = 0; // of the images, for pyramids and coefficients
};

/// Goes by the headers of the images. Masks are taken as whole.
template <int D>
StageWork workOf(const Registry&, const CheckedStage<D>&, const StageInput<D>&);

/// Predicted by the rates of one machine with an Intel Xeon and an H200, reading and writing left out.
double cpuSeconds(const StageWork&, int threads);
double cudaSeconds(const StageWork&);
/// The time that a process takes until it can use a CUDA device.
constexpr double cudaStartSeconds = 0.32;

}
