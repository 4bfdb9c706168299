#pragma once

#include "Core/Compute/Threads/Interruption.h"
#include "Core/Registration/Transform.h"
#include "Core/Runs/RunListener.h"
#include "Core/Runs/RunPlan.h"

#include <chrono>
#include <memory>

namespace tessera {

/// What a run gives back.
template <int D>
struct RunResult {
  ChainPointer<D> chain; // of all stages and the initial transform
  ResultImage<D> image;  // of the last stage; no pixels: its parameters ask for none

  /// Where a point of the fixed image lies in the moving one, both in mm.
  Vec<D> movingPointMm(const Vec<D>& fixedPointMm) const { return mappedPoint<D>(*chain, fixedPointMm); }
};

using Deadline = std::chrono::steady_clock::time_point;

/// What runs of one request share that differ in the moving image alone, one after the other: the fixed side
/// as it was read, its pyramids, and devices with what lies on them.
template <int D>
struct WarmSide {
  ContextsInUse contexts; // which outlive what lies there
  std::optional<InputSide<D>> fixed;
  FilteredImages<D> filtered;
  std::vector<StageOnDevice> onDevice; // of each stage of a run that was finished; empty: of none
};

/// A registration: checked when it is made, then planned or executed. It writes, prints and forks nothing,
/// and keeps nothing in the process, so that several may go at once.
template <int D>
class Run {
public:
  /// Checks all that can be checked without voxels, and makes each component once. `headers` are those of the
  /// request (readHeaders), which tell the dimension. Registry, log and machine must outlive it. Throws
  /// Error.
  Run(const Registry&, RunRequest, InputHeaders headers, Log&, const Machine& = shippedMachine());
  /// The same for a caller who knows the dimension: reads the headers itself.
  Run(const Registry&, const RunRequest&, Log&, const Machine& = shippedMachine());
  ~Run();

  /// What the run will do and take, by the headers. Throws Error if a device cannot do it.
  RunPlan plan();

  /// Reads the voxels and runs all stages. To be called once. Throws Error, or Interrupted once `stop` asks
  /// for it; summary() then tells of the stages that were finished, and chain() is what they found. Stages
  /// end with the iteration in which the deadline comes.
  RunResult<D> execute(RunListener<D>&, Stop = {}, WarmSide<D>* = nullptr, Deadline = Deadline::max());
  RunResult<D> execute();

  const InputHeaders& headers() const;
  const RunSummary& summary() const;
  RunSummary takeSummary(); // at the end
  /// Of the initial transform and all stages that were finished; null: none.
  const ChainPointer<D>& chain() const;

private:
  class Body;
  std::unique_ptr<Body> body_;
};

}
