#include "Core/Registration/FieldOfLattice.h"

#include <algorithm>

namespace tessera {
namespace {

/// Step 1 in all directions.
template <int D>
bool isBox(const VoxelLattice<D>& lattice)
{
  return std::ranges::all_of(lattice.step, [](std::size_t step) { return step == 1; });
}

template <int D>
ImageGeometry<D> boxGeometry(const VoxelLattice<D>& lattice)
{
  ImageGeometry<D> geometry = lattice.image->geometry;
  Vec<D> first;
  for (int d = 0; d < D; ++d)
    first[d] = static_cast<double>(lattice.first[d]);
  geometry.originMm = lattice.image->geometry.pointFromIndex()(first);
  geometry.size = lattice.count;
  return geometry;
}

}

template <int D>
const FieldMethod<D>* FieldOfLattice<D>::at(const SampleSet<D>& set)
{
  const auto* lattice = std::get_if<VoxelLattice<D>>(&set);
  if (!lattice)
    return nullptr;
  if (lattice_ != *lattice) {
    method_ = find(*lattice);
    lattice_ = *lattice;
  }
  return method_ ? &*method_ : nullptr;
}

template <int D>
std::optional<FieldMethod<D>> FieldOfLattice<D>::find(const VoxelLattice<D>& lattice) const
{
  const bool joined = level_.chain->initial && level_.chain->combination == Combination::compose;
  if (joined || !isBox(lattice) || !level_.registry)
    return {};
  TransformChain<D> last;
  last.transform = level_.chain->transform;
  const std::string name = last.transform->fieldInterpolator();
  const FieldMethods<D> methods(*level_.registry, last, boxGeometry(lattice), name, "(FieldInterpolator \"" + name + "\")");
  return methods.choose(device_, FieldQuantity::displacements);
}

template class FieldOfLattice<2>;
template class FieldOfLattice<3>;

}
