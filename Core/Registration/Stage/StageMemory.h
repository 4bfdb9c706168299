#pragma once

#include "Core/Registration/Registration.h"
#include "Core/Registration/Stage/PreparedStage.h"

#include <string>
#include <vector>

namespace tessera {

/// A stage by the sizes of its inputs alone.
template <int D>
struct StageExtent {
  std::vector<ImageGeometry<D>> fixed, moving;
  std::vector<MaskPointer<D>> fixedMasks, movingMasks; // as in StageInput; without voxels until they are read
  std::size_t pointPairs = 0;
  std::shared_ptr<const TransformChain<D>> initial; // null: none
  bool initialIsKnown = true;                       // no: it has a model but no parameters, and moves nothing
};

template <int D>
StageExtent<D> extentOf(const StageInput<D>&);

/// One a level, each in as few slabs as `usableBytes` allow; a level that does not fit in any number of slabs
/// is planned in as many as there are slices. Reads no voxels but those of masks.
template <int D>
std::vector<LevelPlan> planStage(Context& host, const Registry&, const PreparedStage<D>&,
                                 const StageExtent<D>&, double usableBytes);

/// The stage's chain at its last level, as an initial transform whose parameters are not known yet.
template <int D>
std::shared_ptr<const TransformChain<D>> chainAfter(Context& host, const PreparedStage<D>&,
                                                    const StageExtent<D>&);

}
