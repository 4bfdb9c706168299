#pragma once

#include "Core/Registration/Registration.h"
#include "Core/Registration/Stage/PreparedStage.h"

#include <cstddef>
#include <vector>

namespace tessera {

/// One plan for each level, each in as few slabs as `usableBytes` allow; a level that does not fit in any
/// number of slabs is planned in as many as there are slices. Prepares the stage's components on a
/// MemoryCount, so that images and masks may come without voxels, and of the points only the number counts.
template <int D>
std::vector<LevelPlan> planStage(const Registry&, const PreparedStage<D>&, const StageInput<D>&,
                                 double usableBytes);

/// The number of the transform's parameters at each level, from the same inputs.
template <int D>
std::vector<std::size_t> parameterCounts(const PreparedStage<D>&, const StageInput<D>&);

/// The stage's chain at its last level, as an initial transform whose parameters are not known yet: it moves
/// nothing. Its last transform is that of the stage, which changes when the stage is planned again or runs.
template <int D>
ChainPointer<D> chainAfter(const PreparedStage<D>&, const StageInput<D>&);

}
