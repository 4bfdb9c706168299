#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Filters/FilteredImage.h"
#include "Core/Image/Image.h"
#include "Core/Image/ImageSide.h"

namespace tessera {

/// Computes the image of one level. The images of other levels need not be kept.
template <int D>
class ImagePyramid {
public:
  static constexpr const char* roleName = "ImagePyramid";
  virtual ~ImagePyramid() = default;

  /// The filter steps from an original with this geometry to the level's image; none if the level changes
  /// nothing.
  virtual std::vector<FilterStep<D>> stepsOfLevel(const ImageGeometry<D>& original,
                                                  std::size_t level) const = 0;
  /// The shrink or smoothing factor for each axis, by which masks are eroded.
  virtual Vec<D> scheduleOfLevel(std::size_t level) const = 0;

  /// The level's image, which is `original` itself if the level changes nothing; see filteredImage.
  ImagePointer<D> imageOfLevel(Context& context, const ImagePointer<D>& original, std::size_t level,
                               HeldOnCuda* held = nullptr, HeldOnCuda* originals = nullptr) const
  {
    return filteredImage<D>(context, original, stepsOfLevel(original->geometry, level), held, originals);
  }
  ImageGeometry<D> geometryOfLevel(const ImageGeometry<D>& original, std::size_t level) const
  {
    const auto steps = stepsOfLevel(original, level);
    return steps.empty() ? original : steps.back().geometry;
  }
};

/// The two roles in parameter files. Both make ImagePyramids, which differ in the names of their schedules.
template <int D>
struct FixedImagePyramid {
  static constexpr const char* roleName = "FixedImagePyramid";
  std::unique_ptr<ImagePyramid<D>> pyramid;
};

template <int D>
struct MovingImagePyramid {
  static constexpr const char* roleName = "MovingImagePyramid";
  std::unique_ptr<ImagePyramid<D>> pyramid;
};

}
