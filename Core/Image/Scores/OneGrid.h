#pragma once

#include "Core/Image/Files/InputError.h"
#include "Core/Image/ImageGeometry.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace tessera {

/// Throws Error(unreadableInput) unless the corners of both grids agree to a hundredth of a voxel.
template <int D>
void requireOneGrid(const std::string& where, const ImageGeometry<D>& a, const ImageGeometry<D>& b)
{
  const double toleranceMm = 0.01 * *std::ranges::min_element(a.spacingMm);
  bool isOne = a.size == b.size;
  const auto cornersOfA = a.cornersMm(), cornersOfB = b.cornersMm();
  for (int corner = 0; corner < 1 << D; ++corner)
    for (int d = 0; d < D; ++d)
      isOne = isOne && std::abs(cornersOfA[corner][d] - cornersOfB[corner][d]) <= toleranceMm;
  if (!isOne)
    failToRead(
        where, "the images have different grids",
        "images of one size, spacing, origin and direction; tessera-transform --grid IMAGE resamples one "
        "on the grid of another");
}

}
