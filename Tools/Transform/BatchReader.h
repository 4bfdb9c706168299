#pragma once

#include "Tools/Transform/ImageBatch.h"
#include "Tools/Transform/MemoryBudget.h"
#include "Tools/Transform/MovingImage.h"
#include "Tools/Transform/ResultFile.h"

#include <chrono>
#include <exception>
#include <mutex>

namespace tessera {

/// An image on its way through a batch.
template <int D>
struct BatchItem {
  const ImageTask* task = nullptr;
  PixelMeaning meaning = PixelMeaning::scalar;
  double components = 1, movingBytes = 0, resultBytes = 0; // in memory
  double leastResultBytes = 0;                             // of the result, at a time
  bool isBrought = false; // from its file to a CUDA device: then the host has none of its voxels
  double asAWholeBytes = 0, deviceBytes = 0; // its movingBytes else; and what it takes of the device
  MovingImage<D> moving;
  ComponentPixels result;
  double readSeconds = 0, resampleSeconds = 0, writeSeconds = 0;
  std::size_t together = 1; // images that were resampled in that time
  std::exception_ptr failure;
};

/// What goes wrong stays with the image.
template <int D, class Action>
void attempt(BatchItem<D>& item, double& seconds, Action&& action)
{
  if (item.failure)
    return;
  const auto start = std::chrono::steady_clock::now();
  try {
    action();
  } catch (...) {
    item.failure = std::current_exception();
  }
  seconds += secondsSince(start);
}

/// Reads the images of a batch, into the host's memory or to its CUDA device, as far as there is room.
template <int D>
class BatchReader {
public:
  /// Both must outlive this.
  BatchReader(const ImageBatch<D>&, const MemoryBudget& ofHost);

  /// What the image will take, by its header. Not while others are read.
  BatchItem<D> sized(ImageTask&);

  /// Whether not even the least of the result fits beside it: then it is read while it is resampled.
  bool isLarge(const BatchItem<D>&) const;

  /// Unless it is large, or was read before.
  void read(BatchItem<D>&) const;
  /// The same while others are resampled, and read by other threads; images for which the device has no room
  /// now are put off.
  void readAhead(BatchItem<D>&) const;

private:
  void bring(BatchItem<D>&, double leftBytes) const;
  int threadsFor(const BatchItem<D>&) const;
  bool isRead(const BatchItem<D>& item) const { return !item.moving.components.empty(); }

  const ImageBatch<D>& batch_;
  const MemoryBudget& ofHost_;
  double usableDeviceBytes_ = 0;
  double mostDeviceBytes_ = 0; // of any item
  mutable std::mutex takingDeviceMemory_;
};

}
