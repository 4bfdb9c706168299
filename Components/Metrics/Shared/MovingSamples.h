#pragma once

#include "Components/Metrics/Shared/MeanOverSamples.h"
#include "Core/Registration/Interpolator.h"

#include <array>
#include <cmath>
#include <vector>

namespace tessera {

/// The samples of a batch of MeanOverSamples that T maps into the moving image, with the intensities of both
/// images. Arrays have room for samplesAtOnce.
template <int D>
struct MovingSamples {
  PointBatch<D> points, mapped; // x and T(x)
  std::vector<float> fixed = std::vector<float>(MeanOverSamples<D>::samplesAtOnce), moving = fixed;
  std::array<std::vector<float>, D> gradientPerMm; // the moving image's, at T(x)

  MovingSamples() { gradientPerMm.fill(fixed); }

  /// Samples whose intensities are no numbers are left out, too.
  void gather(Context& context, const TransformChain<D>& chain, const Interpolator<D>& interpolator,
              const ListSamples<D>& samples, const float* fixedOfSamples, bool withGradient)
  {
    mapped.count = samples.count;
    mapChain<D>(context, chain, samples, mapped.out());
    std::array<float*, D> gradients;
    for (int d = 0; d < D; ++d)
      gradients[d] = gradientPerMm[d].data();
    interpolator.evaluate(context, mapped.list(), moving.data(), withGradient ? gradients.data() : nullptr,
                          inside_.data());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < samples.count; ++i) {
      for (int d = 0; d < D; ++d) {
        points.mm[d][kept] = samples.pointMm[d][i];
        mapped.mm[d][kept] = mapped.mm[d][i];
        gradientPerMm[d][kept] = gradientPerMm[d][i];
      }
      fixed[kept] = fixedOfSamples[i];
      moving[kept] = moving[i];
      kept += inside_[i] != 0 && !std::isnan(fixed[kept]) && !std::isnan(moving[kept]);
    }
    points.count = mapped.count = kept;
  }

  /// Adds J^T v over the samples to the gradient.
  void pullBack(Context& context, const TransformChain<D>& chain, const PointBatch<D>& covectors,
                std::span<double> gradient)
  {
    if (points.count == 0)
      return;
    atLast_.count = points.count;
    mapInitial<D>(context, chain, points.list(), atLast_.out());
    optimizable(*chain.transform)
        .pullBack(context, atLast_.list(), chain.parameters, covectors.list().pointMm, gradient);
  }

private:
  PointBatch<D> atLast_;
  std::vector<std::uint8_t> inside_ = std::vector<std::uint8_t>(MeanOverSamples<D>::samplesAtOnce);
};

}
