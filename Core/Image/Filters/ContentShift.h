#pragma once

#include "Core/Image/Filters/FilteredImage.h"

namespace tessera {

/// How far the result of filter steps lies beside the content of the original, in mm along each axis of the
/// image: 0 where every voxel stands at the mean place of the voxels that it is made of.
template <int D>
Vec<D> contentShiftMm(const ImageGeometry<D>& original, const std::vector<FilterStep<D>>& steps);

}
