#pragma once

#include "Core/Registration/CostTerm.h"
#include "Core/Registration/Reporter.h"
#include "Core/Registration/Stage/LevelPlan.h"
#include "Core/Registry/Registry.h"

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// How the terms of a level make one cost.
struct TermCombination {
  std::vector<double> weights;
  bool relative = false; // weights of gradients follow the ratio of their norms
};

/// (Registration "..."): which terms are allowed and how they are combined.
class Registration {
public:
  static constexpr const char* roleName = "Registration";
  virtual ~Registration() = default;

  /// Throws Error(usage) if this registration cannot take so many terms.
  virtual void checkTermCount(std::size_t terms) const = 0;
  virtual TermCombination combination(std::size_t level, std::size_t terms) const = 0;
};

/// One parameter file's work: images at full resolution, and what comes before.
template <int D>
struct StageInput {
  std::shared_ptr<const ParameterMap> parameters;
  std::size_t stage = 0;
  std::vector<ImagePointer<D>> fixed, moving;          // at least one each
  std::vector<MaskPointer<D>> fixedMasks, movingMasks; // none, one for all, or one an image
  std::shared_ptr<const TransformChain<D>> initial;    // null: none
  PointPairs<D> points;                                // -fp, -mp; empty: none
  bool hasPoints = false;
  std::vector<LevelPlan> plans; // for a CUDA device, one a level; empty: all in one piece
};

template <int D>
struct StageResult {
  std::shared_ptr<const TransformChain<D>> chain;
  double finalValue = 0;
  std::vector<LevelSummary> levels;
};

/// Runs all levels of a stage. Throws Error, or Interrupted when the reporter asks to stop.
template <int D>
StageResult<D> runStage(Context&, const Registry&, const StageInput<D>&, Reporter<D>&);

}
