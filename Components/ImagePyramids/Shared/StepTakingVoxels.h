#pragma once

#include "Core/Image/Filters/FilteredImage.h"

namespace tessera {

/// The step that takes every f-th voxel along each axis, f its factor, as itk::ShrinkImageFilter does.
template <int D>
FilterStep<D> stepTakingVoxels(const ImageGeometry<D>& original, const Size<D>& factors);

}
