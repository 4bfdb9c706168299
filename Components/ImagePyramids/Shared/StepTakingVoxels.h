#pragma once

#include "Core/Image/Filters/DiscreteGaussian.h"
#include "Core/Image/Filters/FilteredImage.h"
#include "Core/Image/Filters/Shrink.h"

namespace tessera {

/// The step that takes every f-th voxel along each axis, f its factor, as itk::ShrinkImageFilter does.
template <int D>
FilterStep<D> stepTakingVoxels(const ImageGeometry<D>& original, const Size<D>& factors)
{
  const ShrunkGrid<D> grid = shrunkGrid<D>(original, factors);
  FilterStep<D> step;
  step.geometry = grid.geometry;
  for (int d = 0; d < D; ++d)
    step.taps[d] = smoothingTaps(0, grid.firstVoxel[d], factors[d], grid.geometry.size[d]);
  return step;
}

}
