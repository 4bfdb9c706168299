#pragma once

#include "Core/Registration/Stage/Cost.h"
#include "Core/Registration/Stage/Motion.h"

#include <string>

namespace tessera {

/// Why the end of a stage must not be taken for its result, or empty: points of the fixed image (and mask)
/// have left the moving image, or they moved far and the cost is worse than at the start of the stage. Both
/// costs are of the samples that the last level has drawn. Points have left if fewer than `requiredShare`,
/// and at most a quarter, are inside. `motion` is that of the stage, by the masks as given. A small motion is
/// never a reason: a start that is already right can be left a little. Neither is a worse cost where points
/// have come into the moving image, since other points are compared then. The text ends with one remedy.
/// Throws Error(registrationFailed) if too few samples are valid at the end.
template <int D>
std::string whyDiverged(Cost<D>&, const Motion&, double diagonalOfFixedMm, const TransformChain<D>& start,
                        const TransformChain<D>& end, double requiredShare);

/// For a warning: that the cost at the end of a stage is worse than at its start, on the same samples of the
/// last level, or empty. Random samples are drawn ten times, from those of `iteration` on; the mean must be
/// worse by more than three of its standard errors.
template <int D>
std::string whyWorse(Cost<D>&, const TransformChain<D>& start, const TransformChain<D>& end,
                     std::size_t iteration);

}
