#pragma once

#include "Core/Image/Slices/ImageLayers.h"

namespace tessera {

/// What an Interpolator can be besides: one that reads voxels, of which no more need to be in memory than it
/// is asked for.
template <int D>
class LayerInterpolator {
public:
  virtual ~LayerInterpolator() = default;

  /// False if it makes coefficients of the whole image.
  virtual bool takesLayers() const { return true; }

  /// As Interpolator::prepareForLevel on the CPU, of an image of which these layers are in memory. Values are
  /// those of the whole image wherever they are made of these layers; gradients, and points that need others,
  /// are not to be asked for.
  void prepareForLayers(const ImageLayers<D>& layers) { readInPlace(layers.wholeImage(), layers.geometry); }

protected:
  /// `voxels`: where the whole image would begin. They must outlive what is asked of them.
  virtual void readInPlace(const float* voxels, const ImageGeometry<D>&) = 0;
};

}
