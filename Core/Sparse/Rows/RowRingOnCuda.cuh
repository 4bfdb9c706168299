#pragma once

#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
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

/// Where rows of C stand whose sizes are not known before they are made: in scratch memory, one behind the
/// other in any order. What finds no room there is not made.
struct ScratchRows {
  std::uint32_t* start;     // of each row; notMade
  std::uint32_t* count;     // entries of each row
  unsigned long long* used; // entries that were asked for
  std::uint32_t* anyLeft;   // becomes 1 if a row is not made
  std::uint32_t room;       // entries

  /// Where so many entries go; notMade if there is no room.
  __device__ std::uint32_t take(std::uint32_t entries) const
  {
    const unsigned long long at = atomicAdd(used, static_cast<unsigned long long>(entries));
    return at + entries <= room ? static_cast<std::uint32_t>(at) : left();
  }
  /// The same for a row that is not to be made now.
  __device__ std::uint32_t left() const
  {
    *anyLeft = 1;
    return notMade;
  }
};

/// Where rows of C go.
template <class V>
struct RowTarget {
  const std::uint64_t* rowStart; // null: to scratch memory
  std::uint32_t* column;
  V* value;
  std::uint32_t* overflowed; // 1: an int64 was beyond 64 bits
  ScratchRows scratch;

  template <class Ring>
  __device__ void report(const Ring& ring) const
  {
    if constexpr (Ring::exact)
      if (ring.overflowed)
        *overflowed = 1;
  }
};

}
