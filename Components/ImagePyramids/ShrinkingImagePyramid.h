#pragma once

#include "Components/ImagePyramids/Shared/PyramidSchedule.h"
#include "Core/Registration/ImagePyramid.h"

namespace tessera {

/// Takes every f-th voxel of the full image without smoothing, like itk::ShrinkImageFilter.
///
/// (FixedImagePyramid "FixedShrinkingImagePyramid")
/// (ImagePyramidSchedule 4 4 4 2 2 2 1 1 1)
template <int D>
class ShrinkingImagePyramid final : public ImagePyramid<D> {
public:
  ShrinkingImagePyramid(const Parameters& parameters, ImageSide side)
      : factors_(readFactors<D>(parameters, factorRows(side), FactorRule::decreasing))
  {
  }

  std::vector<FilterStep<D>> stepsOfLevel(const ImageGeometry<D>& original, std::size_t level) const override;
  Vec<D> scheduleOfLevel(std::size_t level) const override { return factorsAsVec<D>(factors_[level]); }

  static const ComponentDescription& description(ImageSide);

private:
  Schedule<D, std::size_t> factors_;
};

}
