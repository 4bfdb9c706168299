#pragma once

#include "Core/Image/Slices/ImageSlices.h"

namespace tessera {

/// An optional second interface of an Interpolator that reads voxels: only the slices that a call needs must
/// be in memory.
template <int D>
class SliceInterpolator {
public:
  virtual ~SliceInterpolator() = default;

  /// False if it needs coefficients of the whole image.
  virtual bool takesSlices() const { return true; }

  /// Does the work of Interpolator::prepareForLevel on the CPU for an image with only these slices in memory.
  /// Values are those of the whole image if they need no other slice. Callers must not ask for gradients, or
  /// for points that need other slices.
  void prepareForSlices(const ImageSlices<D>& slices) { readInPlace(slices.wholeImage(), slices.geometry); }

protected:
  /// `voxels` is where the whole image would begin. They must stay in memory while the interpolator is used.
  virtual void readInPlace(const float* voxels, const ImageGeometry<D>&) = 0;
};

}
