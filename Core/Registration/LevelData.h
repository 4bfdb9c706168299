#pragma once

#include "Core/Registration/Cost.h"
#include "Core/Registration/StageComponents.h"

namespace tessera {

/// Images, masks, samplers and interpolators of one level, ready for its cost.
template <int D>
struct LevelData {
  std::vector<CostPart<D>> parts;
  std::vector<ImagePointer<D>> fixed, moving;   // one a term; terms may share
};

/// Computes the level's images (each once), erodes masks as the parameters say, and prepares every term.
template <int D>
LevelData<D> prepareLevel(Context&, const Registry&, const StageInput<D>&, const Parameters&, StageComponents<D>&, const TransformChain<D>&,
                          std::size_t level);

}
