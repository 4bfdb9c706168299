#pragma once

#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Runs/Resampling/ImageBatch.h"
#include "Core/Runs/Resampling/MovingImage.h"

#include <string>

namespace tessera {

/// The memory that a whole image needs of a device, and the memory that is free there.
struct RoomOnDevice {
  DeviceMemory needed;
  double usableBytes = 0;

  bool isEnough() const { return needed.bytes() <= usableBytes; }
};

/// Throws Error(outOfMemory): the device cannot hold the image, neither as a whole nor, because of `whyNot`,
/// in slices. The message begins with `prefix`.
template <int D>
[[noreturn]] void failForDevice(const ImageBatch<D>&, const std::string& prefix, const RoomOnDevice&,
                                const std::string& whyNot);

/// Images as the sources of one resampling on the batch's device.
template <int D>
struct BatchSources {
  std::vector<std::unique_ptr<Interpolator<D>>> interpolators;
  std::vector<ResampleSource<D>> sources;
  std::vector<PixelType> types; // pixel type of each result

  /// Adds the components of an image. An image that does not fit on a CUDA device is set up to be copied
  /// there slice by slice. Throws Error(outOfMemory) if that is not possible; the sources added before stay
  /// valid.
  void add(const ImageBatch<D>&, const ImageTask&, const MovingImage<D>&);
};

}
