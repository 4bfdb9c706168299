#pragma once

#include "Core/Registration/Stage/Motion.h"

#include <string>

namespace tessera {

/// For a stage that ended because too few samples map into the moving image and its mask: why it ended, from
/// the shares and motions that were measured, and one remedy that may help. `canCentre` tells whether the
/// stage reads AutomaticTransformInitialization: it has no start, and its transform is linear.
std::string remedyFor(const Motion&, double diagonalOfFixedMm, bool canCentre = true);

/// For a stage whose end is worse than its start, or far outside: one remedy that may help.
std::string remedyOfDivergence(const Motion&, double diagonalOfFixedMm);

}
