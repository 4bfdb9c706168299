#pragma once

#include "Core/Registration/ImageSampler.h"

namespace tessera {

/// Every voxel of the fixed image inside the mask.
template <int D>
class FullSampler final : public ImageSampler<D> {
public:
  explicit FullSampler(const Parameters&) {}

  static const ComponentDescription& description();

  void prepareForLevel(Context&, const ImagePointer<D>& fixed, const MaskPointer<D>& mask,
                       std::size_t) override
  {
    this->samples_ = latticeOf(fixed, mask);
  }
  void draw(Context&, const Draw&) override {}
  bool isRandom() const override { return false; }
  bool givesLattice() const override { return true; }

private:
  VoxelLattice<D> latticeOf(const ImagePointer<D>& fixed, const MaskPointer<D>& mask) const;
};

}
