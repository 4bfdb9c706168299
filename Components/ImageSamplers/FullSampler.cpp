#include "Components/ImageSamplers/FullSampler.h"

namespace tessera {

template <int D>
const ComponentDescription& FullSampler<D>::description()
{
  static const ComponentDescription description{"ImageSampler", "Full",
                                                "every voxel of the fixed image inside the mask"};
  return description;
}

template <int D>
VoxelLattice<D> FullSampler<D>::latticeOf(const ImagePointer<D>& fixed, const MaskPointer<D>& mask) const
{
  const VoxelBox<D> box = this->boxIn(fixed->geometry, mask);
  VoxelLattice<D> lattice{fixed, mask, box.first, {}, box.size};
  lattice.step.fill(1);
  return lattice;
}

TESSERA_INSTANTIATE_CLASS_TO_4(FullSampler);

}
