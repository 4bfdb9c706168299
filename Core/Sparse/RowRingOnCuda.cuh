#pragma once

#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/Semiring.h"

#include <cuda_runtime.h>

#include <type_traits>

namespace tessera {

/// sum + a b; for numbers with a fraction in one rounding.
template <class V, class Ring>
__device__ __forceinline__ V multiplyAdd(Ring& ring, V a, V b, V sum)
{
  if constexpr (std::is_same_v<Ring, PlusTimes<float>> || std::is_same_v<Ring, PlusTimes<double>>)
    return fma(a, b, sum);
  else
    return ring.add(sum, ring.multiply(a, b));
}

/// Where rows of C go.
template <class V>
struct RowTarget {
  const std::uint64_t* rowStart;
  std::uint32_t* column;
  V* value;
  std::uint32_t* overflowed; // 1: an int64 was beyond 64 bits

  template <class Ring>
  __device__ void report(const Ring& ring) const
  {
    if constexpr (Ring::exact)
      if (ring.overflowed)
        *overflowed = 1;
  }
};

}
