#pragma once

#include "Core/Registration/Resampler.h"

namespace tessera {

/// Slices (of the last axis) of a moving image that may be read where it is resampled, if interpolators read
/// voxels and not coefficients. They follow from the corners of what is asked for: linear transforms and one
/// B-spline lead no further from where the linear ones alone lead than the B-spline's longest coefficient.
template <int D>
class InputSlices {
public:
  InputSlices(const TransformChain<D>&, const ImageGeometry<D>& moving, const ImageGeometry<D>& output);

  /// False for chains of other transforms, and so far from the origin that roundings shift places by half a
  /// voxel: where they lead is not known before they are asked.
  bool known() const { return known_; }

  /// For some slices of the output; not empty, and with the image's border where it is asked for from beyond.
  SliceRange askedBy(const SliceRange& ofOutput) const;
  /// The most that any `count` slices of the output ask for.
  std::size_t mostAskedBy(std::size_t count) const;

private:
  SliceRange between(double low, double high) const;

  bool known_ = false;
  std::size_t slices_; // of the image
  double low_ = 0,
         high_ =
             0; // index of the image's last axis over the output's first slice, with shifts by the B-spline
  double step_ = 0; // the same from slice to slice
};

}
