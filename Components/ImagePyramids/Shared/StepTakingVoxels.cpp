#include "Components/ImagePyramids/Shared/StepTakingVoxels.h"

#include "Core/Image/Filters/DiscreteGaussian.h"
#include "Core/Image/Filters/Shrink.h"

namespace tessera {

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

template FilterStep<2> stepTakingVoxels<2>(const ImageGeometry<2>&, const Size<2>&);
template FilterStep<3> stepTakingVoxels<3>(const ImageGeometry<3>&, const Size<3>&);

}
