#include "Components/FieldInterpolators/ThreadPerVoxel.h"

namespace tessera {

template <int D>
const ComponentDescription& ThreadPerVoxel<D>::description()
{
  static const ComponentDescription description{
      "FieldInterpolator", "ThreadPerVoxel",
      "CUDA: one thread a voxel adds up its control points; any grid spacing (Modat et al. 2010)."};
  return description;
}

TESSERA_INSTANTIATE_CLASS(ThreadPerVoxel);

}
