#pragma once

#include "Tools/Transform/ImageBatch.h"
#include "Tools/Transform/MovingImage.h"

namespace tessera {

/// Images as a resampler takes them, on the device of their batch.
template <int D>
struct BatchSources {
  std::vector<std::unique_ptr<Interpolator<D>>> interpolators;
  std::vector<ResampleSource<D>> sources;
  std::vector<PixelType> types; // of their results

  /// The image's components. One that does not fit a CUDA device goes there in layers. Throws Error(outOfMemory) where that does
  /// not help; the sources before it stay as they are then.
  void add(const ImageBatch<D>&, const MovingImage<D>&);
};

}
