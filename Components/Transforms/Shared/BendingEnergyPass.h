#pragma once

#include "Components/Transforms/Shared/ExactBendingEnergy.h"
#include "Core/Compute/HostDevice.h"

#include <cstddef>

namespace tessera {

/// One axis of ExactBendingEnergy::evaluate in the form of CUDA, where a thread takes one value: a control
/// point of a component. E_p is the sum over all ways to take p derivatives along the axes so far, and G_q
/// are the bands of this axis:
///
///   E_0 <- G_0 E_0, E_1 <- G_0 E_1 + G_1 E_0, E_2 <- G_0 E_2 + 2 G_1 E_1 + G_2 E_0
struct BendingPass {
  const double* bands; // BendingBands::values of the axis
  std::size_t points;  // control points of the axis
  std::size_t stride;  // from one of them to the next, in values
  std::size_t count;   // values of E_p, those of all components

  /// Computes E_0, E_1 and E_2 at value i from those of the axes before, which lie one behind the other:
  /// three or, with Before = 1, E_0 alone, which are the coefficients.
  template <int Before>
  TESSERA_HOST_DEVICE void contract(const double* before, std::size_t i, double (&sums)[3]) const
  {
    constexpr int neighbours = BendingBands::neighbours, reach = neighbours / 2;
    const int point = static_cast<int>(i / stride % points);
    const double* const row = bands + static_cast<std::size_t>(point) * BendingBands::perPoint + reach;
    for (double& sum : sums)
      sum = 0;
    TESSERA_UNROLL
    for (int m = -reach; m <= reach; ++m) {
      if (point + m < 0 || point + m >= static_cast<int>(points))
        continue;
      const double g0 = row[m], g1 = row[neighbours + m], g2 = row[2 * neighbours + m];
      const double* const from =
          before + static_cast<std::ptrdiff_t>(i) + m * static_cast<std::ptrdiff_t>(stride);
      const double e0 = from[0];
      sums[0] += g0 * e0;
      sums[1] += g1 * e0;
      sums[2] += g2 * e0;
      if constexpr (Before == 3) {
        const double e1 = from[count], e2 = from[2 * count];
        sums[1] += g0 * e1;
        sums[2] += 2 * g1 * e1 + g0 * e2;
      }
    }
  }
};

}
