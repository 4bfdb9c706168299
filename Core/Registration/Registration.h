#pragma once

#include "Core/Compute/Log.h"
#include "Core/Image/Filters/FilteredImages.h"
#include "Core/Registration/Reporter.h"
#include "Core/Registry/Registry.h"

#include <chrono>
#include <cstddef>
#include <vector>

namespace tessera {

/// How the terms of a level are summed to one cost.
struct TermCombination {
  std::vector<double> weights;
  bool relative = false; // a weight also scales its gradient to the norm of the first term's gradient
};

/// (Registration "..."): which terms are allowed and how they are combined.
class Registration {
public:
  static constexpr const char* roleName = "Registration";
  virtual ~Registration() = default;

  /// Throws Error(usage) if this registration cannot take so many terms.
  virtual void checkTermCount(std::size_t terms) const = 0;
  virtual TermCombination combination(std::size_t level, std::size_t terms) const = 0;
  /// Whether its only term sees all images, each with a pyramid of its own; else each term has a pair.
  virtual bool takesFeatures() const { return false; }
};

/// The data that a stage registers: images at full resolution, and the result of the stages before.
template <int D>
struct StageInput {
  std::size_t stage = 0;                      // its number within the run, which its random numbers depend on
  std::vector<ImagePointer<D>> fixed, moving; // at least one of each
  std::vector<MaskPointer<D>> fixedMasks, movingMasks; // none, that of the first image, or one for each
  // The parts of these masks that levels erode, one for each mask: what was given, without the voxels that
  // are left out because they have no value. Empty: all of the masks.
  std::vector<MaskPointer<D>> erodedOfFixed, erodedOfMoving;
  ChainPointer<D> initial; // null: none
  PointPairs<D> points;    // -fp, -mp; empty: none
  bool hasPoints = false;
  ReadingOptions reading = {}; // of images that components read themselves
  /// Null: none. The stage goes on from the last transform of this chain (OptimizableTransform::takeOver).
  ChainPointer<D> start = {};
  /// The stage ends after the iteration in which this time comes, and skips the levels that are left.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  /// Null: none. Images of levels that several runs share.
  FilteredImages<D>* filtered = nullptr;
  /// Evaluations are timed part by part after each level, which takes as long as a few more of them.
  bool timesParts = true;

  bool isOver() const
  {
    return deadline != decltype(deadline)::max() && std::chrono::steady_clock::now() >= deadline;
  }
};

template <int D>
struct StageResult {
  ChainPointer<D> chain;            // with the parameters of the last finished level
  double finalValue = 0;            // the cost at the end of that level
  std::vector<LevelSummary> levels; // the levels that were finished
  bool wasStopped = false;          // by Context::stop, before all levels were finished
};

template <int D>
struct PreparedStage;

/// Runs all levels of a prepared stage on the context's device, as its plans say. After each iteration the
/// context's Stop may end it. Throws Error.
template <int D>
StageResult<D> runStage(Context&, const Registry&, PreparedStage<D>, const StageInput<D>&, Reporter<D>&,
                        Log&);

}
