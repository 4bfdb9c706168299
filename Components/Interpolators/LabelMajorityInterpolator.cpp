#include "Components/Interpolators/LabelMajorityInterpolator.h"

#include "Components/Interpolators/Shared/SplineSupport.h"
#include "Core/Compute/Error.h"

namespace tessera {

template <int D>
void LabelMajorityInterpolator<D>::evaluate(Context&, const ListSamples<D>& points, float* values,
                                            float* const* gradients, std::uint8_t* inside) const
{
  if (gradients)
    failAs(ExitCode::usage, "LabelMajorityInterpolator", "gradients: labels have none",
           "another interpolator");
  Located<D, double> located;
  for (std::size_t begin = 0; begin < points.count; begin += splineBlockSize) {
    const std::size_t count = std::min(splineBlockSize, points.count - begin);
    locate<D, 1>(voxels_, points, begin, count, located);
    SplineSupport<D, 1, 2, float> support(voxels_);
    for (std::size_t i = 0; i < count; ++i) {
      const bool isInside = located.place[i] != Located<D, double>::outside;
      inside[begin + i] = isInside ? 1 : 0;
      values[begin + i] = 0;
      if (!isInside)
        continue;
      support.moveTo(voxels_, located, i);
      float corners[1 << D];
      double fraction[D];
      for (int c = 0; c < 1 << D; ++c)
        corners[c] =
            support.rows[(c & 1) + (c >> 1 & 1) * support.rowStride + (c >> 2) * support.planeStride];
      for (int d = 0; d < D; ++d)
        fraction[d] = located.t[d][i];
      values[begin + i] = majorityLabel<D>(corners, fraction);
    }
  }
}

template <int D>
const ComponentDescription& LabelMajorityInterpolator<D>::description()
{
  static const ComponentDescription resampling{"ResampleInterpolator",
                                               "LabelMajorityInterpolator",
                                               "For label images: the label whose linear weights have the "
                                               "largest sum; the smaller label if two are equal.",
                                               {},
                                               {"FinalLabelMajorityInterpolator"}};
  return resampling;
}

TESSERA_INSTANTIATE_CLASS(LabelMajorityInterpolator);

}
