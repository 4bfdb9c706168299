#pragma once

#include "Components/Transforms/Shared/OnCuda/InverseOnCuda.h"
#include "Core/Registration/Fields/TransformFields.h"

namespace tessera {

/// A field of TransformFields.h. An inverse has all of them on CUDA, too.
template <int D, RootQuantity Quantity>
auto outputFieldOf(Context& context, const TransformChain<D>& chain, const ImageGeometry<D>& lattice,
                   const std::optional<FieldMethod<D>>& method)
{
  const InverseTransform<D>* inverse = context.onCuda() ? asInverse(chain) : nullptr;
  const auto onCuda = [&] { return fieldOfInverseOnCuda<D>(context, *inverse, lattice, Quantity); };
  if constexpr (Quantity == RootQuantity::displacements)
    return inverse ? onCuda() : displacementField<D>(context, chain, lattice, method);
  else if constexpr (Quantity == RootQuantity::matrices)
    return inverse ? onCuda() : jacobianMatrices<D>(context, chain, lattice, method);
  else
    return inverse ? Image<D>{lattice, onCuda().voxels}
                   : jacobianDeterminants<D>(context, chain, lattice, method);
}

}
