#pragma once

#include "Components/ImagePyramids/PyramidSchedule.h"
#include "Core/Image/Shrink.h"
#include "Core/Registration/ImagePyramid.h"

namespace tessera {

/// Takes every f-th voxel of the full image without smoothing, as itk::ShrinkImageFilter.
///
/// (FixedImagePyramid "FixedShrinkingImagePyramid")
/// (ImagePyramidSchedule 4 4 4 2 2 2 1 1 1)
template <int D>
class ShrinkingImagePyramid final : public ImagePyramid<D> {
public:
  ShrinkingImagePyramid(const Parameters&, ImageSide);

  ImagePointer<D> imageOfLevel(Context&, const ImagePointer<D>& original, std::size_t level) override;
  ImageGeometry<D> geometryOfLevel(const ImageGeometry<D>& original, std::size_t level) const override;
  Vec<D> scheduleOfLevel(std::size_t level) const override { return factorsAsVec<D>(factors_[level]); }

  static const ComponentDescription& description(ImageSide);

private:
  bool shrinks(std::size_t level) const;

  Schedule<D, std::size_t> factors_;
};

/// Voxels firstVoxel + factor * i.
template <int D>
ImagePointer<D> takeVoxels(Context&, const Image<D>&, const Size<D>& factors);

}
