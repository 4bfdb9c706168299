#pragma once

#include "Core/Compute/HostDevice.h"

namespace tessera {

/// a + t (b - a).
template <class Real>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE Real mix(Real a, Real b, Real t)
{
  return a + t * (b - a);
}

/// The linear interpolant in a cell of 2 x 2 or 2 x 2 x 2 voxels and, if WithSlope, its derivatives along the
/// index axes. low[r] and high[r] are the neighbours along x in row r, where y changes faster than z.
/// `fraction` is the place of the point in the cell.
template <int D, bool WithSlope, class Real>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE Real mixLinearly(const Real (&low)[1 << (D - 1)],
                                                           const Real (&high)[1 << (D - 1)],
                                                           const Real (&fraction)[D], Real (&slope)[D])
{
  constexpr int rowCount = 1 << (D - 1);
  const Real tx = fraction[0], ty = fraction[1];
  Real rows[rowCount], differences[rowCount];
  TESSERA_UNROLL
  for (int r = 0; r < rowCount; ++r) {
    differences[r] = high[r] - low[r];
    rows[r] = low[r] + tx * differences[r];
  }
  if constexpr (D == 2) {
    if constexpr (WithSlope) {
      slope[0] = mix(differences[0], differences[1], ty);
      slope[1] = rows[1] - rows[0];
    }
    return mix(rows[0], rows[1], ty);
  } else {
    const Real tz = fraction[2];
    const Real front = mix(rows[0], rows[1], ty), back = mix(rows[2], rows[3], ty);
    if constexpr (WithSlope) {
      slope[0] = mix(mix(differences[0], differences[1], ty), mix(differences[2], differences[3], ty), tz);
      slope[1] = mix(rows[1] - rows[0], rows[3] - rows[2], tz);
      slope[2] = back - front;
    }
    return mix(front, back, tz);
  }
}

}
