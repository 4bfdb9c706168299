#pragma once

#include "Core/Image/ImageGeometry.h"

#include <string>
#include <vector>

namespace tessera {

/// Text for messages if points lie beyond the outer voxels of an image: how many, and the number of the first
/// of them, counted from 1. Empty if all are inside.
template <int D>
std::string pointsOutside(const std::vector<Vec<D>>& pointsMm, const ImageGeometry<D>& image)
{
  const AffineMap<D> indexFromPoint = image.indexFromPoint();
  std::size_t outside = 0, first = 0;
  for (std::size_t i = 0; i < pointsMm.size(); ++i) {
    const Vec<D> index = indexFromPoint(pointsMm[i]);
    bool isInside = true;
    for (int d = 0; d < D; ++d)
      isInside = isInside && index[d] >= -0.5 && index[d] <= static_cast<double>(image.size[d]) - 0.5;
    if (!isInside && outside++ == 0)
      first = i + 1;
  }
  return outside == 0 ? ""
                      : std::to_string(outside) + " of " + std::to_string(pointsMm.size())
                            + " points lie outside of their image, the first of them is number "
                            + std::to_string(first) + ", counted from 1";
}

}
