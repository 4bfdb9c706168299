#include "Core/Registration/Fields/FieldOfLattice.h"

#include <algorithm>

namespace tessera {
namespace {

/// Whether the lattice takes every voxel of its box.
template <int D>
bool isBox(const VoxelLattice<D>& lattice)
{
  return std::ranges::all_of(lattice.step, [](std::size_t step) { return step == 1; });
}

}

template <int D>
ImageGeometry<D> geometryOf(const VoxelLattice<D>& lattice)
{
  ImageGeometry<D> geometry = lattice.image->geometry;
  Vec<D> first;
  for (int d = 0; d < D; ++d) {
    first[d] = static_cast<double>(lattice.first[d]);
    geometry.spacingMm[d] *= static_cast<double>(lattice.step[d]);
  }
  geometry.originMm = lattice.image->geometry.pointFromIndex()(first);
  geometry.size = lattice.count;
  return geometry;
}

template <int D>
std::optional<FieldMethod<D>> fieldOfLattice(const VoxelLattice<D>& lattice, const TransformChain<D>& chain,
                                             const Registry* registry, DeviceKind device)
{
  const bool joined = chain.initial && chain.combination == Combination::compose;
  const FieldForm<D>* form = chain.transform->field();
  if (joined || !isBox(lattice) || !registry || !form)
    return {};
  TransformChain<D> last;
  last.transform = chain.transform;
  const std::string name = form->fieldInterpolator();
  const FieldMethods<D> methods(*registry, last, geometryOf<D>(lattice), name,
                                "(FieldInterpolator \"" + name + "\")");
  return methods.choose(device, FieldQuantity::displacements);
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(geometryOf<D>);
TESSERA_INSTANTIATE_CLASS(FieldOfLattice);

}
