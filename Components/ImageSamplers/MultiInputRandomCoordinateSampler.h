#pragma once

#include "Components/ImageSamplers/RandomCoordinateSampler.h"

namespace tessera {

/// RandomCoordinate in the common box of the fixed images of all metrics, which must have equal directions,
/// and inside all their masks. Intensities are those of the metric's own image. With one fixed image it is
/// RandomCoordinate.
template <int D>
class MultiInputRandomCoordinateSampler final : public RandomCoordinateSampler<D> {
public:
  explicit MultiInputRandomCoordinateSampler(const Parameters& parameters)
      : RandomCoordinateSampler<D>(parameters, description().name)
  {
  }

  static const ComponentDescription& description();

  /// The random region stays while step sizes are estimated: elastix switches it off for RandomCoordinate
  /// alone.
  bool setRandomRegion(bool) override { return false; }
  void setOtherImages(std::vector<SampledImage<D>> others) override { this->others_ = std::move(others); }
};

}
