#pragma once

#include "Core/Compute/HostDevice.h"

#include <cstring>

namespace tessera {

/// N floats that are processed together.
template <int N>
struct LaneVector;
template <>
struct LaneVector<4> {
  typedef float type __attribute__((vector_size(16)));
};
template <>
struct LaneVector<8> {
  typedef float type __attribute__((vector_size(32)));
};
template <int N>
using Lanes = typename LaneVector<N>::type;

template <int N>
TESSERA_ALWAYS_INLINE Lanes<N> loadLanes(const float* from)
{
  Lanes<N> lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

/// The mix of LinearMix.h where each argument may be a vector or a scalar.
template <class Value, class Fraction>
TESSERA_ALWAYS_INLINE auto mix(const Value& a, const Value& b, const Fraction& fraction)
{
  return a + fraction * (b - a);
}

}
