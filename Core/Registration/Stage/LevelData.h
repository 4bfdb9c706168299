#pragma once

#include "Core/Registration/Stage/Cost.h"
#include "Core/Registration/Stage/StageComponents.h"

namespace tessera {

/// Images, masks, samplers and interpolators of one level, ready for its cost.
template <int D>
struct LevelData {
  std::vector<TermLevel<D>> terms;
  std::vector<CostPart<D>> parts;
  std::vector<ImagePointer<D>> fixed, moving; // those of the terms, then features; some may be shared
  HeldOnCuda fixedOnCuda;                     // on a CUDA device, until the terms are prepared and hold them
};

/// The index of the element that goes with a term: the list's only one, or the term's own.
template <class T>
std::size_t indexFor(const std::vector<T>& list, std::size_t term)
{
  return list.size() == 1 ? 0 : term;
}

/// Whether the level erodes a mask: ErodeMask, then Erode<Side>Mask, then Erode<Side>Mask<i>; the last one
/// given wins.
bool erodesMask(const Parameters&, ImageSide, std::size_t mask, std::size_t level);

/// The steps of ExactMetricSampleGridSpacing, in voxels.
template <int D>
Size<D> exactMetricStep(const Parameters&, std::size_t level);

/// Computes the level's images (each once), erodes masks as the parameters say, and prepares interpolators
/// and samplers. `originals` (null: they are not kept) holds the images at full resolution on a CUDA device
/// until the images of the last level are made from them. On the context of a MemoryCount images and masks
/// may come without voxels.
template <int D>
LevelData<D> prepareLevel(Context&, const Registry&, const StageInput<D>&, const Parameters&,
                          const StageComponents<D>&, const TransformChain<D>&, std::size_t level,
                          HeldOnCuda* originals = nullptr);

/// Prepares every term of a level; see TermLevel::slabs.
template <int D>
void prepareTerms(Context&, const StageComponents<D>&, LevelData<D>&, std::size_t slabs);

/// Gives back what the components have taken of a device for a level.
template <int D>
void endLevel(const StageComponents<D>&);
}
