#pragma once

#include "Core/Compute/HostDevice.h"

namespace tessera {

/// Calls function.operator()<n>() for n from Least to Most, which kernels and loops need as a constant, or
/// which is the dimension of an image, and returns what it returns. A larger n counts as Most.
template <int Least, int Most, class Function>
TESSERA_ALWAYS_INLINE decltype(auto) withConstant(int n, const Function& function)
{
  if constexpr (Least == Most)
    return function.template operator()<Least>();
  else
    return n == Least ? function.template operator()<Least>() : withConstant<Least + 1, Most>(n, function);
}

}
