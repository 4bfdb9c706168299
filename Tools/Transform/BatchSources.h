#pragma once

#include "Core/Compute/DeviceMemory.h"
#include "Tools/Transform/ImageBatch.h"
#include "Tools/Transform/MovingImage.h"

#include <string>

namespace tessera {

/// What an image would take of a device as a whole, and what there is of it.
struct RoomOnDevice {
  DeviceMemory needed;
  double usableBytes = 0;

  bool isEnough() const { return needed.bytes() <= usableBytes; }
};

/// Throws Error(outOfMemory): it has no room there, and cannot go there in parts either. `given` is what the
/// message begins with.
template <int D>
[[noreturn]] void failForDevice(const ImageBatch<D>&, const std::string& given, const RoomOnDevice&,
                                const std::string& whyNot);

/// Images as a resampler takes them, on the device of their batch.
template <int D>
struct BatchSources {
  std::vector<std::unique_ptr<Interpolator<D>>> interpolators;
  std::vector<ResampleSource<D>> sources;
  std::vector<PixelType> types; // of their results

  /// The image's components. One that does not fit a CUDA device goes there in slices. Throws
  /// Error(outOfMemory) where that does not help; the sources before it stay as they are then.
  void add(const ImageBatch<D>&, const MovingImage<D>&);
};

}
