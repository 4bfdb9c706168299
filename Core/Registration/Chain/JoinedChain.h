#pragma once

#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

namespace tessera {

/// T(x) = second(first(x)). Where `second` adds transforms (Combination::add), these become one transform
/// that is composed: an affine transform of the registry if they are linear, else AddedTransforms.
template <int D>
ChainPointer<D> joinedChain(ChainPointer<D> first, const ChainPointer<D>& second, const Registry&);

}
