#include "Core/Image/Filters/ContentShift.h"

namespace tessera {
namespace {

/// The mean place of the first voxel's taps, in voxels of the axis before the step.
double placeOfFirst(const AxisTaps& taps)
{
  double sum = 0, moment = 0;
  for (std::size_t i = 0; i < taps.weights.size(); ++i) {
    sum += taps.weights[i];
    moment += taps.weights[i] * static_cast<double>(i);
  }
  return static_cast<double>(taps.first) + (sum == 0 ? 0 : moment / sum);
}

}

template <int D>
Vec<D> contentShiftMm(const ImageGeometry<D>& original, const std::vector<FilterStep<D>>& steps)
{
  Vec<D> shiftMm{};
  if (steps.empty())
    return shiftMm;
  const Vec<D> origin = original.indexFromPoint()(steps.back().geometry.originMm);
  for (int d = 0; d < D; ++d) {
    double voxel = 0;
    for (std::size_t step = steps.size(); step-- > 0;)
      voxel = placeOfFirst(steps[step].taps[d]) + static_cast<double>(steps[step].taps[d].step) * voxel;
    shiftMm[d] = (origin[d] - voxel) * original.spacingMm[d];
  }
  return shiftMm;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(contentShiftMm<D>);

}
