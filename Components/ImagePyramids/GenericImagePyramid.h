#pragma once

#include "Components/ImagePyramids/Shared/PyramidSchedule.h"
#include "Core/Registration/ImagePyramid.h"

namespace tessera {

/// A recursive Gaussian with a sigma in mm, then a coarser grid by linear interpolation or by taking every
/// f-th voxel. Both schedules may be chosen freely.
///
/// (FixedImagePyramid "FixedGenericImagePyramid")
/// (ImagePyramidRescaleSchedule 4 4 4 2 2 2 1 1 1)
/// (ImagePyramidSmoothingSchedule 4.0 4.0 4.0 2.0 2.0 2.0 0.0 0.0 0.0)   mm
/// (ImagePyramidUseShrinkImageFilter "false")
template <int D>
class GenericImagePyramid final : public ImagePyramid<D> {
public:
  GenericImagePyramid(const Parameters&, ImageSide);

  std::vector<FilterStep<D>> stepsOfLevel(const ImageGeometry<D>& original, std::size_t level) const override;
  Vec<D> scheduleOfLevel(std::size_t level) const override { return factorsAsVec<D>(factors_[level]); }

  static const ComponentDescription& description(ImageSide);

private:
  Vec<D> sigmaVoxels(const Vec<D>& spacingMm, std::size_t level) const;

  Schedule<D, std::size_t> factors_;
  Schedule<D, double> sigmasMm_; // empty: the default schedule
  bool takesVoxels_;
};

}
