#pragma once

#include "Core/Compute/HostDevice.h"

namespace tessera {

/// Calls function.operator()<n>() for n from Least to Most, which kernels and loops need as a constant. A
/// larger n counts as Most.
template <int Least, int Most, class Function>
TESSERA_ALWAYS_INLINE void withConstant(int n, const Function& function)
{
  if constexpr (Least == Most)
    function.template operator()<Least>();
  else if (n == Least)
    function.template operator()<Least>();
  else
    withConstant<Least + 1, Most>(n, function);
}

}
