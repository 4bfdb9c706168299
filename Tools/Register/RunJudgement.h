#pragma once

#include "Tools/Register/RegisterOptions.h"
#include "Tools/Register/RunSummary.h"

namespace tessera {

/// The result of a run with what it is measured by.
template <int D>
struct RunResult {
  const Registry& registry;
  const RegisterOptions& options;
  const LoadedInputs<D>& inputs;
  bool usesDirectionCosines;      // as the inputs
  Matrix<D> headerDirection;      // of the first fixed image
  const TransformChain<D>* given; // by -t0; null: none
  const TransformChain<D>* chain; // null: the run failed
  Context host;
};

/// Reads the label maps that are to be compared after the run. Throws Error(unreadableInput) if a voxel of
/// them is no label.
template <int D>
void checkLabels(const RegisterOptions&);

/// Sets the quality of a run, which it also tells to the log, and the pictures of its page if there will be
/// one.
template <int D>
void judgeResult(const RunResult<D>&, RunSummary&, RunLog&);

/// Sets the pictures of the page of a run that failed, which show both images at its start.
template <int D>
void showStart(const RunResult<D>&, RunSummary&);

}
