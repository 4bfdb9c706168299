#pragma once

#include "Core/Compute/HostDevice.h"
#include "Core/Sparse/CsrMatrix.h"

#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera {

/// The nearest number of IEEE half precision (11 bits, down to 2^-24), ties to even. |value| must be below
/// 65520.
TESSERA_HOST_DEVICE inline double roundedToHalf(double value)
{
  constexpr int bits = 11, leastExponent = -14;
  int exponent = 0;
  frexp(value, &exponent); // value = m 2^exponent, m in [0.5, 1)
  const int step = (exponent - 1 < leastExponent ? leastExponent : exponent - 1) - (bits - 1);
  return ldexp(nearbyint(ldexp(value, -step)), step);
}

/// The power of two by which a row or column is divided whose largest magnitude is this (finite).
TESSERA_HOST_DEVICE inline std::int32_t halfExponentFor(float largest)
{
  return largest == 0 ? 0 : ilogbf(largest) - 14;
}

/// A factor for products in half precision: each row (of A) or column (of B) is divided by 2^exponent, so
/// that its largest number lies in [2^14, 2^15), and rounded to half. Half covers 2^-24 to 65504, so what is
/// 2^38 times smaller than the largest of its row is lost.
struct HalfScaled {
  CsrMatrix<float> matrix;
  std::vector<std::int32_t> exponent; // of each row, or of each column
};

/// Numbers that are not finite stay as they are.
HalfScaled halfScaledRows(const Context&, const CsrMatrix<float>&);
HalfScaled halfScaledColumns(const Context&, const CsrMatrix<float>&);

}
