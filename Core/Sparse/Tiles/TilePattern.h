#pragma once

#include "Core/Compute/HostDevice.h"

#include <cstdint>

namespace tessera {

/// The places of the entries in an 8 x 8 tile: bit 8 r + c belongs to row r and column c.
using TilePattern = unsigned long long;

/// The pattern of the product of two tiles, a boolean matrix product: for each k, column k of `a` selects the
/// rows of the result that get row k of `b`.
TESSERA_HOST_DEVICE inline TilePattern multiplyPatterns(TilePattern a, TilePattern b)
{
  std::uint32_t low = 0, high = 0;
  TESSERA_UNROLL
  for (int k = 0; k < 8; ++k) {
    const std::uint32_t row = static_cast<std::uint32_t>(b >> 8 * k) & 0xffu;
    low |= (static_cast<std::uint32_t>(a) >> k & 0x01010101u) * row;
    high |= (static_cast<std::uint32_t>(a >> 32) >> k & 0x01010101u) * row;
  }
  return TilePattern{high} << 32 | low;
}

/// True if the product of two tiles has an entry: for some k, column k of `a` and row k of `b` have entries.
TESSERA_HOST_DEVICE inline bool patternsMeet(TilePattern a, TilePattern b)
{
  std::uint32_t columns = static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(a >> 32);
  columns |= columns >> 16;
  columns |= columns >> 8;
  TilePattern rows = b | b >> 4;
  rows |= rows >> 2;
  rows |= rows >> 1;
  rows &= 0x0101010101010101ull;
  return (columns & static_cast<std::uint32_t>(rows * 0x0102040810204080ull >> 56)) & 0xffu;
}

}
