#pragma once

#include "Core/Registration/Resampler.h"

#include <algorithm>

namespace tessera {

/// The slices of a moving image that resampling some slices of the output may read, for interpolators that
/// read voxels and not spline coefficients. For linear transforms and at most one B-spline they follow from
/// where the linear transforms map the corners of the output slices: the B-spline moves a point by at most
/// its largest coefficient.
template <int D>
class InputSlices {
public:
  InputSlices(const TransformChain<D>&, const ImageGeometry<D>& moving, const ImageGeometry<D>& output);

  /// False if the slices cannot be predicted: for chains of other transforms, and for images so far from the
  /// origin that rounding may shift points by half a voxel.
  bool known() const { return known_; }

  /// The slices of the image for some slices of the output. Never empty: beyond the image they are those at
  /// its border.
  SliceRange askedBy(const SliceRange& ofOutput) const
  {
    const double from = step_ * static_cast<double>(ofOutput.first),
                 to = step_ * static_cast<double>(ofOutput.first + ofOutput.count - 1);
    return between(low_ + std::min(from, to), high_ + std::max(from, to));
  }
  /// A bound of the number of image slices for any `count` consecutive slices of the output.
  std::size_t maxAskedBy(std::size_t count) const;

private:
  SliceRange between(double low, double high) const;

  bool known_ = false;
  std::size_t slices_; // number of slices of the image
  // Bounds of the image's index along its last axis over the first slice of the output, with the
  // displacements of the B-spline, and their change from slice to slice.
  double low_ = 0, high_ = 0, step_ = 0;
};

}
