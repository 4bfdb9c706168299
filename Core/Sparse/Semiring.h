#pragma once

#include "Core/Compute/HostDevice.h"

#include <cstdint>
#include <limits>
#include <type_traits>

namespace tessera {

/// The pairs of operations that can take the places of addition and multiplication. A place without an entry
/// has the semiring's zero.
enum class Semiring { plusTimes, orAnd, minPlus, maxMin, plusPair };

/// The operations of all semirings. `zero` is the neutral element of `add`. Every sum starts with it, so that
/// a sum of -0 becomes +0. For int64, `overflowed` becomes true when a result leaves the range of 64 bits;
/// the results must then not be used.
template <class V>
struct SemiringBase {
  static constexpr bool exact = std::is_same_v<V, std::int64_t>;
  bool overflowed = false;

  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE V sum(V a, V b)
  {
    if constexpr (exact) {
      V result = 0;
#ifdef __CUDA_ARCH__
      result = static_cast<V>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
      overflowed |= ((a ^ result) & (b ^ result)) < 0;
#else
      overflowed |= __builtin_add_overflow(a, b, &result);
#endif
      return result;
    } else {
      return a + b;
    }
  }
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE V product(V a, V b)
  {
    if constexpr (exact) {
      V result = 0;
#ifdef __CUDA_ARCH__
      result = static_cast<V>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
      overflowed |= __mul64hi(a, b) != result >> 63;
#else
      overflowed |= __builtin_mul_overflow(a, b, &result);
#endif
      return result;
    } else {
      return a * b;
    }
  }
};

template <class V>
struct PlusTimes : SemiringBase<V> {
  static constexpr V zero = 0;
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE V multiply(V a, V b) { return this->product(a, b); }
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE V add(V a, V b) { return this->sum(a, b); }
};

/// Counts the pairs of entries that meet.
template <class V>
struct PlusPair : SemiringBase<V> {
  static constexpr V zero = 0;
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE V multiply(V, V) { return 1; }
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE V add(V a, V b) { return this->sum(a, b); }
};

/// 1 if two entries that are not zero meet, otherwise 0.
template <class V>
struct OrAnd : SemiringBase<V> {
  static constexpr V zero = 0;
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE V multiply(V a, V b) { return a != 0 && b != 0 ? 1 : 0; }
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE V add(V a, V b) { return a != 0 || b != 0 ? 1 : 0; }
};

/// Minimum of sums: lengths of shortest paths with two edges. The largest int64 stands for "no path".
template <class V>
struct MinPlus : SemiringBase<V> {
  static constexpr V zero =
      SemiringBase<V>::exact ? std::numeric_limits<V>::max() : std::numeric_limits<V>::infinity();
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE V multiply(V a, V b)
  {
    if constexpr (SemiringBase<V>::exact)
      return a == zero || b == zero ? zero : this->sum(a, b);
    else
      return a + b;
  }
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE V add(V a, V b) { return b < a ? b : a; }
};

/// Maximum of minima: widths of widest paths with two edges.
template <class V>
struct MaxMin : SemiringBase<V> {
  static constexpr V zero =
      SemiringBase<V>::exact ? std::numeric_limits<V>::lowest() : -std::numeric_limits<V>::infinity();
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE V multiply(V a, V b) { return b < a ? b : a; }
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE V add(V a, V b) { return a < b ? b : a; }
};

/// Calls body(ring) with an object of the class of that semiring over V.
template <class V, class Body>
decltype(auto) withSemiring(Semiring semiring, Body&& body)
{
  switch (semiring) {
  case Semiring::orAnd:
    return body(OrAnd<V>());
  case Semiring::minPlus:
    return body(MinPlus<V>());
  case Semiring::maxMin:
    return body(MaxMin<V>());
  case Semiring::plusPair:
    return body(PlusPair<V>());
  case Semiring::plusTimes:
    break;
  }
  return body(PlusTimes<V>());
}

}
