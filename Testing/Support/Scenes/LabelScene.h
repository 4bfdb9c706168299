#pragma once

#include "Testing/Support/Scenes/BendingScenes.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace tessera::testing {

constexpr float labelOfScenes = 7;

/// The scene with labels in place of intensities: in the brighter half of the fixed image, and in the darker
/// half of the moving one, which is drawn inverted.
template <int D>
struct LabelScene : TermScene<D> {
  explicit LabelScene(const Size<D>& size) : TermScene<D>(1, size)
  {
    const auto labelled = [](const Image<D>& image, bool bright) {
      Image<D> labels = image;
      std::vector<float> sorted = image.voxels;
      std::ranges::sort(sorted);
      for (float& voxel : labels.voxels)
        voxel = (voxel > sorted[sorted.size() / 2]) == bright ? labelOfScenes : 0;
      return std::make_shared<const Image<D>>(std::move(labels));
    };
    this->level.fixed = this->fixed = labelled(*this->fixed, true);
    this->level.moving = this->moving = labelled(*this->moving, false);
    this->interpolator->prepareForLevel(host, this->moving, 0);
    this->useAffine();
  }
};

}
