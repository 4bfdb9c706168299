#pragma once

#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/Semiring.h"

#include <cuda_runtime.h>

#include <type_traits>

namespace tessera {

/// sum + a b. For plus-times over floating-point numbers the result is rounded once.
template <class V, class Ring>
__device__ __forceinline__ V multiplyAdd(Ring& ring, V a, V b, V sum)
{
  if constexpr (std::is_same_v<Ring, PlusTimes<float>> || std::is_same_v<Ring, PlusTimes<double>>)
    return fma(a, b, sum);
  else
    return ring.add(sum, ring.multiply(a, b));
}

/// Scratch memory for rows of C whose sizes are not known before they are computed. They lie one behind the
/// other in any order. A row that finds no room is not written.
struct ScratchRows {
  std::uint32_t* start;     // place of each row; notMade if it is not there
  std::uint32_t* count;     // entries of each row
  unsigned long long* used; // entries that were asked for
  std::uint32_t* anyLeft;   // becomes 1 if a row is not written
  std::uint32_t room;       // size of the memory in entries

  /// Takes room for a row and returns its place; notMade if there is no room.
  __device__ std::uint32_t take(std::uint32_t entries) const
  {
    const unsigned long long at = atomicAdd(used, static_cast<unsigned long long>(entries));
    return at + entries <= room ? static_cast<std::uint32_t>(at) : left();
  }
  /// Records that a row is not written now.
  __device__ std::uint32_t left() const
  {
    *anyLeft = 1;
    return notMade;
  }
};

/// The memory that a pass writes rows of C to.
template <class V>
struct RowTarget {
  const std::uint64_t* rowStart; // null: write to scratch memory
  std::uint32_t* column;
  V* value;
  std::uint32_t* overflowed; // becomes 1 if an int64 left the range of 64 bits
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
