#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Filters/FilteredImage.h"
#include "Core/Image/Image.h"
#include "Core/Image/ImageSide.h"
#include "Core/Parameters/Parameters.h"

namespace tessera {

/// Gives the image of one level; nothing of other levels need be held.
template <int D>
class ImagePyramid {
public:
  static constexpr const char* roleName = "ImagePyramid";
  virtual ~ImagePyramid() = default;

  /// From an original of this geometry to the level's image; none where the level changes nothing.
  virtual std::vector<FilterStep<D>> stepsOfLevel(const ImageGeometry<D>& original,
                                                  std::size_t level) const = 0;
  /// Shrink or smoothing factor per axis, as mask erosion uses it.
  virtual Vec<D> scheduleOfLevel(std::size_t level) const = 0;

  /// `original` itself where the level changes nothing; see filteredImage.
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

/// Roles of parameter files; both make ImagePyramids, which differ in the names of their schedules.
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
