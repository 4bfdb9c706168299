#include "Components/Metrics/Shared/FoldingLattice/FoldingLattice.h"

#include "Core/Registration/Fields/FieldOfLattice.h"
#include "Core/Registration/TransformParts.h"

#include <algorithm>

namespace tessera {
namespace {

/// The spatial Jacobian of linear transforms.
template <int D>
Matrix<D> constantJacobian(const TransformChain<D>& chain)
{
  PointBatch<D> point;
  point.count = 1;
  std::array<double, D * D> jacobian;
  Context host;
  chainSpatialDerivatives<D>(host, chain, point.list(), jacobian.data(), nullptr);
  return jacobianAt<D>(jacobian.data(), 1, 0);
}

}

template <int D>
std::optional<FoldingLattice<D>> foldingLattice(const VoxelLattice<D>& lattice, const TermLevel<D>& level)
{
  const TransformChain<D>& chain = *level.chain;
  const FieldForm<D>* form = chain.transform->field();
  if (level.movingMask || !form || (chain.initial && chain.combination == Combination::compose))
    return {};
  const std::optional<AlignedField<D>> field = form->alignedField(geometryOf<D>(lattice));
  if (!field || field->order != 3
      || std::ranges::any_of(field->axes, [](const FieldAxis& axis) { return axis.points < 4; }))
    return {};
  FoldingLattice<D> found{lattice, *field};
  found.beforeIsConstant = isLinearChain<D>(chain.initial.get());
  if (chain.initial && found.beforeIsConstant)
    found.before = constantJacobian<D>(*chain.initial);
  return found;
}

TESSERA_INSTANTIATE_FUNCTIONS(foldingLattice<D>);

}
