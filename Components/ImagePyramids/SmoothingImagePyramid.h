#pragma once

#include "Components/ImagePyramids/Shared/PyramidSchedule.h"
#include "Core/Registration/ImagePyramid.h"

namespace tessera {

/// Smooths the full image for every level by a recursive Gaussian with sigma = factor / 2 voxels along each
/// axis, and keeps its size.
///
/// (FixedImagePyramid "FixedSmoothingImagePyramid")
/// (ImagePyramidSchedule 8 8 8 4 4 4 2 2 2 1 1 1)   factor 1 still smooths (half a voxel); 0 does not
template <int D>
class SmoothingImagePyramid final : public ImagePyramid<D> {
public:
  SmoothingImagePyramid(const Parameters& parameters, ImageSide side)
      : factors_(readFactors<D>(parameters, factorRows(side), FactorRule::free))
  {
  }

  std::vector<FilterStep<D>> stepsOfLevel(const ImageGeometry<D>& original, std::size_t level) const override;
  Vec<D> scheduleOfLevel(std::size_t level) const override { return factorsAsVec<D>(factors_[level]); }

  static const ComponentDescription& description(ImageSide);

private:
  Schedule<D, std::size_t> factors_;
};

}
