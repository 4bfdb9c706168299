#pragma once

#include "Core/Image/ImageGeometry.h"

#include <string>
#include <vector>

namespace tessera {

/// Text for messages if points lie beyond the outer voxels of an image: how many, and the number of the first
/// of them, counted from 1. Empty if all are inside.
template <int D>
std::string pointsOutside(const std::vector<Vec<D>>& pointsMm, const ImageGeometry<D>& image);

}
