#include "Components/FieldInterpolators/ThreadPerVoxelTiled.h"

namespace tessera {

template <int D>
const ComponentDescription& ThreadPerVoxelTiled<D>::description()
{
  static const ComponentDescription description{
      "FieldInterpolator", "ThreadPerVoxelTiled",
      "CUDA: one thread a voxel, control points of the tile in shared memory; whole-voxel spacing "
      "(Ellingwood et al. 2016)."};
  return description;
}

TESSERA_INSTANTIATE_CLASS(ThreadPerVoxelTiled);

}
