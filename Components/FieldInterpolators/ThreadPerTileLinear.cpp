#include "Components/FieldInterpolators/ThreadPerTileLinear.h"

#include "Components/FieldInterpolators/Shared/CubicTiles.h"

namespace tessera {

template <int D>
std::string ThreadPerTileLinear<D>::refusal(const AlignedField<D>& field) const
{
  return refusalOfCubicTiles<D>(field);
}

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
