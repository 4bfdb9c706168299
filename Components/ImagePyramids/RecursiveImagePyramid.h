#pragma once

#include "Components/ImagePyramids/Shared/PyramidSchedule.h"
#include "Core/Registration/ImagePyramid.h"

namespace tessera {

/// Each level is the next finer one, smoothed by a discrete Gaussian with a variance of (f / 2)^2 voxels^2
/// and shrunk by their relative factor f; a last level with factor 1 is the image itself. If factors do not
/// divide each other, each level is computed from the full image instead, and factor 1 smooths too. This is
/// the method of itk::RecursiveMultiResolutionPyramidImageFilter, including its shift by half a voxel for
/// even f.
///
/// (FixedImagePyramid "FixedRecursiveImagePyramid")
/// (ImagePyramidSchedule 4 4 1 2 2 1 1 1 1)
template <int D>
class RecursiveImagePyramid final : public ImagePyramid<D> {
public:
  RecursiveImagePyramid(const Parameters& parameters, ImageSide side)
      : factors_(readFactors<D>(parameters, factorRows(side), FactorRule::decreasing))
  {
  }

  std::vector<FilterStep<D>> stepsOfLevel(const ImageGeometry<D>& original, std::size_t level) const override;
  Vec<D> scheduleOfLevel(std::size_t level) const override { return factorsAsVec<D>(factors_[level]); }

  static const ComponentDescription& description(ImageSide);

private:
  bool dividesDownward() const;

  Schedule<D, std::size_t> factors_;
};

}
