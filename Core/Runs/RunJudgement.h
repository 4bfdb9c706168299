#pragma once

#include "Core/Runs/RunSummary.h"

namespace tessera {

/// The result of a run with what it is measured by.
template <int D>
struct JudgedRun {
  const Registry& registry;
  const RunRequest& request;
  const StageInput<D>& inputs;
  bool usesDirectionCosines;      // as the inputs
  Matrix<D> headerDirection;      // of the first fixed image
  const TransformChain<D>* given; // the initial transform of the request; null: none
  const TransformChain<D>* chain; // null: the run failed
  Context host;
  std::optional<double> medianDeterminant = {}; // of the chain's spatial Jacobian; none: the chain is linear
  bool isSeries =
      false; // the last stage compared times of one image, and not the fixed image with the moving one
  Context device = {}; // of the last stage; images may lie there alone
};

/// Reads the label maps that are to be compared after the run. Throws Error(unreadableInput) if a voxel of
/// them is no label.
template <int D>
void checkLabels(const RunRequest&);

/// Sets the quality of a run, which it also tells to the log, and its pictures if they are asked for.
template <int D>
void judgeResult(const JudgedRun<D>&, RunSummary&, Log&);

/// The pictures of a run; without a chain they show both images at its start. Throws as checkLabels().
template <int D>
RunPictures picturesOfRun(const JudgedRun<D>&);

}
