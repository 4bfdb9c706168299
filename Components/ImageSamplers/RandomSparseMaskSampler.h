#pragma once

#include "Components/ImageSamplers/Shared/DrawsOnCuda.h"
#include "Core/Registration/ImageSampler.h"

#include <optional>

namespace tessera {

/// Voxels of the fixed image, drawn uniformly and with replacement from a list of those inside the mask. No
/// draw is ever repeated, so masks may be thin.
template <int D>
class RandomSparseMaskSampler final : public ImageSampler<D> {
public:
  explicit RandomSparseMaskSampler(const Parameters& parameters)
  {
    for (std::size_t level = 0; level < parameters.levelCount(); ++level)
      counts_.push_back(static_cast<std::size_t>(parameters.get(numberOfSpatialSamples(), level)));
  }

  static const ComponentDescription& description();

  void prepareForLevel(Context&, const ImagePointer<D>& fixed, const MaskPointer<D>& mask,
                       std::size_t level) override;
  void endLevel() override
  {
    this->samples_ = PointList<D>{};
    onCuda_.reset();
    listOnCuda_ = {};
  }
  void draw(Context&, const Draw&) override;
  bool isRandom() const override { return true; }

private:
  std::vector<std::size_t> counts_; // one a level
  ImagePointer<D> fixed_;
  std::vector<std::size_t> voxelsInMask_; // offsets; empty if there is no mask, so that every voxel counts
  std::optional<DrawsOnCuda<D>> onCuda_;  // if the level was prepared on a CUDA device
  Buffer<std::size_t> listOnCuda_;        // voxelsInMask_ on that device
};

}
