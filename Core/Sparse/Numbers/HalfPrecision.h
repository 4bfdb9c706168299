#pragma once

#include "Core/Compute/HostDevice.h"
#include "Core/Sparse/CsrMatrix.h"

#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera {

/// Rounds to the nearest number of IEEE half precision (11 significant bits, steps of at least 2^-24); a tie
/// goes to the even neighbour. |value| must be below 65520.
TESSERA_HOST_DEVICE inline double roundedToHalf(double value)
{
  constexpr int bits = 11, leastExponent = -14;
  int exponent = 0;
  frexp(value, &exponent); // value = m 2^exponent with m in [0.5, 1)
  const int step = (exponent - 1 < leastExponent ? leastExponent : exponent - 1) - (bits - 1);
  return ldexp(nearbyint(ldexp(value, -step)), step);
}

/// The exponent e for a row or column whose largest finite magnitude is `largest`: divided by 2^e it lies in
/// [2^14, 2^15).
TESSERA_HOST_DEVICE inline std::int32_t halfExponentFor(float largest)
{
  return largest == 0 ? 0 : ilogbf(largest) - 14;
}

/// A factor of a product in half precision. Each row (of A) or column (of B) was divided by 2^exponent, so
/// that its largest magnitude lies in [2^14, 2^15), and then rounded. Half precision covers 2^-24 to 65504,
/// so a value that is more than 2^38 times smaller than the largest of its row or column becomes zero.
struct HalfScaled {
  CsrMatrix<float> matrix;
  std::vector<std::int32_t> exponent; // one for each row, or one for each column
};

/// Divides and rounds as HalfScaled says. Values that are not finite stay as they are.
HalfScaled halfScaledRows(const Context&, const CsrMatrix<float>&);
HalfScaled halfScaledColumns(const Context&, const CsrMatrix<float>&);

}
