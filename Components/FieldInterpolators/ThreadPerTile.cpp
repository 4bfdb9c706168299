#include "Components/FieldInterpolators/ThreadPerTile.h"

namespace tessera {

template <int D>
const ComponentDescription& ThreadPerTile<D>::description()
{
  static const ComponentDescription description{
      "FieldInterpolator", "ThreadPerTile",
      "CUDA: one thread a tile, control points in registers, weighted sums; whole-voxel spacing (Zachariadis "
      "et al. 2020)."};
  return description;
}

TESSERA_INSTANTIATE_CLASS(ThreadPerTile);

}
