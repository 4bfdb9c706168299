#pragma once

#include "Core/Runs/Resampling/ImageBatch.h"
#include "Core/Runs/Resampling/MemoryBudget.h"
#include "Core/Runs/Resampling/MovingImage.h"
#include "Core/Runs/Resampling/ResultWriter.h"

#include <chrono>
#include <exception>
#include <mutex>

namespace tessera {

/// One image of a batch, from its file to that of its result.
template <int D>
struct BatchItem {
  const ImageTask* task = nullptr;
  PixelMeaning meaning = PixelMeaning::scalar;
  double components = 1;
  // Bytes of host memory.
  double movingBytes = 0;      // bytes of the image; 0: the caller has it, or it is read to a CUDA device
  double wholeImageBytes = 0;  // bytes of the image if it were read to the host
  double resultBytes = 0;      // bytes of the whole result
  double minResultBytes = 0;   // bytes of the smallest part of the result that must be in memory
  bool isReadToDevice = false; // straight from the file to a CUDA device
  double deviceBytes = 0;      // bytes of the CUDA device's memory
  MovingImage<D> moving;
  ComponentPixels result;
  std::size_t clamped = 0; // values that the type of the result does not hold
  double readSeconds = 0, resampleSeconds = 0, writeSeconds = 0;
  std::size_t imagesTogether = 1; // images that were resampled at the same time, in resampleSeconds
  std::exception_ptr failure;
};

/// Calls an action for an item that has not failed, adds its time to `seconds`, and keeps its error in the
/// item.
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

/// Reads the images of a batch into the host's memory or to the CUDA device, as far as there is memory.
template <int D>
class BatchReader {
public:
  /// The batch and the budget of host memory must outlive this.
  BatchReader(const ImageBatch<D>&, const MemoryBudget&);

  /// The item of a task with its need of memory, computed from the header. Must not run beside read().
  BatchItem<D> sized(ImageTask&);

  /// Whether the image does not fit into host memory together with the smallest part of its result. Such an
  /// image is read while it is resampled.
  bool isLarge(const BatchItem<D>& item) const
  {
    return item.task->input.isFile() && item.movingBytes + item.minResultBytes > memory_.bytes;
  }

  /// Reads the image, unless it is large or was read before.
  void read(BatchItem<D>&) const;
  /// read() beside the resampling of other images and from several threads. An image that is read to the
  /// device stays unread for now if the device lacks the memory.
  void readAhead(BatchItem<D>&) const;

private:
  void readToDevice(BatchItem<D>&, double reservedBytes) const;
  int threadsForFiles() const { return memory_.threadsForFiles(batch_.context.threads); }
  bool isRead(const BatchItem<D>& item) const { return !item.moving.components.empty(); }

  const ImageBatch<D>& batch_;
  const MemoryBudget& memory_;
  double usableDeviceBytes_ = 0;
  double maxDeviceBytes_ = 0; // largest deviceBytes of any item
  mutable std::mutex allocatingOnDevice_;
};

}
