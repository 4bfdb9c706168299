#pragma once

#include "Core/Registration/ImageSampler.h"

namespace tessera {

/// Voxels of the fixed image at regular steps, inside the mask; the grid is centred in the mask's bounding
/// box.
template <int D>
class GridSampler final : public ImageSampler<D> {
public:
  explicit GridSampler(const Parameters&);

  static const ComponentDescription& description();

  void prepareForLevel(Context&, const ImagePointer<D>& fixed, const MaskPointer<D>& mask,
                       std::size_t level) override
  {
    this->samples_ = gridOfStep<D>(steps_[level], fixed, this->regionOf(fixed->geometry), mask);
  }
  void draw(Context&, const Draw&) override {}
  bool isRandom() const override { return false; }
  bool givesLattice() const override { return true; }
  bool givesExactValues() const override { return true; }

private:
  std::vector<Size<D>> steps_; // one a level
};

}
