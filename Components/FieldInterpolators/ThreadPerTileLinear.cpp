#include "Components/FieldInterpolators/ThreadPerTileLinear.h"

namespace tessera {

template <int D>
const ComponentDescription& ThreadPerTileLinear<D>::description()
{
  static const ComponentDescription description{"FieldInterpolator", "ThreadPerTileLinear",
                                                "CUDA: one thread a tile, 8 + 1 trilinear interpolations; "
                                                "whole-voxel spacing (Zachariadis et al. 2020)."};
  return description;
}

TESSERA_INSTANTIATE_CLASS(ThreadPerTileLinear);

}
