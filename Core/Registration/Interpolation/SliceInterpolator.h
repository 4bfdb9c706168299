#pragma once

#include "Core/Image/Slices/ImageSlices.h"

namespace tessera {

/// What an Interpolator can be besides: one that reads voxels, of which no more need to be in memory than it
/// is asked for.
template <int D>
class SliceInterpolator {
public:
  virtual ~SliceInterpolator() = default;

  /// False if it makes coefficients of the whole image.
  virtual bool takesSlices() const { return true; }

  /// As Interpolator::prepareForLevel on the CPU, of an image of which these slices are in memory. Values are
  /// those of the whole image wherever they are made of these slices; gradients, and points that need others,
  /// are not to be asked for.
  void prepareForSlices(const ImageSlices<D>& slices) { readInPlace(slices.wholeImage(), slices.geometry); }

protected:
  /// `voxels`: where the whole image would begin. They must outlive what is asked of them.
  virtual void readInPlace(const float* voxels, const ImageGeometry<D>&) = 0;
};

}
