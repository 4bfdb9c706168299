#pragma once

#include "Core/Parameters/Parameters.h"

#include <array>
#include <cstddef>
#include <vector>

namespace tessera {

/// A window around each position of a lattice: a box, or a Gaussian that ends at 3 sigma. Positions outside
/// of the lattice are not in it.
struct LocalWindow {
  std::array<int, 3> radius{};                // positions on either side; 0 along an axis that is missing
  std::array<std::vector<double>, 3> weights; // at offsets -radius to radius, sum 1; empty: a box

  /// The shared memory of a block of threads holds a tile of positions with so many around it.
  static constexpr int maxRadiusOnCuda = 16;

  bool isBox() const { return weights[0].empty(); }

  /// Reads LocalWindowRadius and LocalWindowSigma of a level. Throws Error(usage) if both are given,
  /// or another number of radii than one, one a level, or one for each axis of each level.
  static LocalWindow read(const Parameters&, std::size_t level);
  static std::vector<ParameterInfo> parameters();

  static LocalWindow gaussian(double sigma, std::size_t dimension);
};

}
