#pragma once

#include "Core/Registration/Transform.h"

#include <memory>
#include <string>

namespace tessera {

/// T(x) = second(first(x)). Throws Error(usage), beginning with `where`, if `second` adds transforms
/// (Combination::add), which then would be added at other points.
template <int D>
std::shared_ptr<const TransformChain<D>> joinedChain(std::shared_ptr<const TransformChain<D>> first,
                                                     const std::shared_ptr<const TransformChain<D>>& second,
                                                     const std::string& where);

}
