#pragma once

#include "Components/ImageSamplers/Shared/DrawsOnCuda.h"
#include "Core/Registration/ImageSampler.h"

#include <optional>

namespace tessera {

/// Voxels of the fixed image, drawn uniformly and with replacement from the mask's bounding box until they
/// lie in the mask.
template <int D>
class RandomSampler final : public ImageSampler<D> {
public:
  explicit RandomSampler(const Parameters& parameters)
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
  }
  void draw(Context&, const Draw&) override;
  bool isRandom() const override { return true; }

private:
  std::vector<std::size_t> counts_; // one a level
  ImagePointer<D> fixed_;
  MaskPointer<D> mask_;
  VoxelBox<D> box_;
  std::optional<DrawsOnCuda<D>> onCuda_; // if the level was prepared on a CUDA device
};

}
