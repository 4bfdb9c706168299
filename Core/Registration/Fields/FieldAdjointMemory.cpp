#include "Core/Registration/Fields/FieldAdjoint.h"

#include "Core/Registration/Fields/FieldAdjointPlan.h"

namespace tessera {
namespace {

template <int D, class Sum>
std::size_t bytesOf(const AlignedField<D>& field)
{
  // The most shared memory that CUDA devices let a block have.
  constexpr std::size_t fewestSharedBytes = 48 << 10, maxSharedBytes = 227 << 10;
  std::size_t maxValues = 0;
  for (const std::size_t shared : {fewestSharedBytes, maxSharedBytes}) {
    const adjoint::Plan plan = adjoint::planOf<D, Sum>(field, shared);
    maxValues = std::max(maxValues, plan.componentStride() * plan.tileCount());
  }
  return D * sizeof(typename Sum::Value) * maxValues;
}

}

template <int D>
std::size_t adjointBytes(const AlignedField<D>& field, GradientSummation summation)
{
  if (!adjoint::hasSupport(field))
    return 0;
  switch (summation) {
  case GradientSummation::kahan:
    return bytesOf<D, adjoint::KahanSum>(field);
  case GradientSummation::pichat:
    return bytesOf<D, adjoint::PichatSum>(field);
  case GradientSummation::doublePrecision:
    return bytesOf<D, adjoint::DoubleSum>(field);
  default:
    return bytesOf<D, adjoint::FusedSum>(field);
  }
}

TESSERA_INSTANTIATE_FUNCTIONS(adjointBytes<D>);

}
