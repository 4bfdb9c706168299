#pragma once

#include "Core/Runs/Run.h"

#include <string>

namespace tessera {

/// Seconds of one evaluation of the cost at a level, with its share of what the optimizer does.
double evaluationSeconds(const LevelSummary&);

/// Runs all stages with few iterations at each level, writes nothing, and says how long the planned run will
/// take by that. Throws Error as Run.
template <int D>
std::string measuredTimeText(const Registry&, RunRequest, const InputHeaders&, const RunPlan&,
                             const Machine&);

}
