#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

class DeviceShare;

struct CudaDevice {
  std::string name;
  int multiprocessors = 0;
  double clockGHz = 0;
  std::size_t memoryBytes = 0;
  std::size_t cacheBytes = 0; // size of the L2 cache

  /// Single-precision operations a second if every lane did one fused multiply-add in each cycle.
  double peakSingle() const { return 2.0 * 128 * multiprocessors * clockGHz * 1e9; }
};

/// The devices that CUDA_VISIBLE_DEVICES leaves. If there is none, `whyNone` says whether the build, the
/// driver or the GPU is missing.
struct CudaDevices {
  std::vector<CudaDevice> found;
  std::string whyNone;
};
CudaDevices findCudaDevices();

/// An order of work on one CUDA device. Memory of the device is allocated and released in the same order.
/// Every call throws Error(device) with CUDA's own message if something failed before.
class Stream {
public:
  /// A stream that holds at most `mostBytes` of arrays. Throws Error(device) if the device cannot be used,
  /// and always in a build without CUDA.
  static std::shared_ptr<Stream> onDevice(int ordinal, double mostBytes);
  virtual ~Stream() = default;

  /// Throws Error(outOfMemory) with the bytes asked for and the bytes free.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Gives back what allocate(bytes) gave.
  virtual void release(void*, std::size_t bytes) noexcept = 0;
  /// Bytes that this stream may still take: of the device's free ones without those that others have
  /// reserved, and of its limit.
  virtual std::size_t freeBytes() = 0;
  /// The free bytes, less those that kernels need beside arrays.
  virtual double usableBytes() = 0;
  /// The largest number of bytes of arrays that this stream held since the last call.
  virtual double takePeakBytes() = 0;
  /// Returns the count of the device memory that this stream takes, or null if the stream keeps none.
  virtual DeviceShare* share() { return nullptr; }

  /// Copies are ordered with the stream's other work. A copy to the host has ended when the call returns.
  virtual void copyToDevice(void* device, const void* host, std::size_t bytes) = 0;
  virtual void copyToHost(void* host, const void* device, std::size_t bytes) = 0;
  virtual void copyOnDevice(void* to, const void* from, std::size_t bytes) = 0;
  virtual void fill(void* device, int byte, std::size_t bytes) = 0;

  /// Pinned memory of the host, for copies that run beside other work. What copyLater copies may be read
  /// after the next wait.
  virtual void* allocatePinned(std::size_t bytes) = 0;
  virtual void releasePinned(void*) noexcept = 0;
  virtual void copyLater(void* pinned, const void* device, std::size_t bytes) = 0;

  /// Calls two functions, whose work runs side by side. Neither may read an array that the other writes. With
  /// `recorded` the first call keeps there what `apart` enqueues, and later ones start that again by one
  /// launch in place of calling it, which takes the host less time: kernels get the arguments that they had.
  virtual void sideBySide(const std::function<void()>& apart, const std::function<void()>& rest,
                          std::shared_ptr<void>* recorded)
  {
    static_cast<void>(recorded);
    apart();
    rest();
  }

  /// Waits for all work enqueued so far.
  virtual void wait() = 0;
  /// The time, by the device's clock, from startTimer to the end of all work that was enqueued before
  /// stopTimer is called.
  virtual void startTimer() = 0;
  virtual double stopTimerMilliseconds() = 0;

  /// The time of copies between host and device so far, and the bytes that went each way (see Transfers.h).
  double transferMilliseconds() const { return transferMilliseconds_; }
  double bytesToDevice() const { return bytesToDevice_; }
  double bytesToHost() const { return bytesToHost_; }
  void countTransfer(double milliseconds) { transferMilliseconds_ += milliseconds; }
  void countBytesToDevice(std::size_t bytes) { bytesToDevice_ += static_cast<double>(bytes); }
  void countBytesToHost(std::size_t bytes) { bytesToHost_ += static_cast<double>(bytes); }

private:
  /// Atomic, since several threads may read files for it.
  std::atomic<double> transferMilliseconds_{0}, bytesToDevice_{0}, bytesToHost_{0};
};

/// The parts of Stream::onDevice and findCudaDevices that need CUDA, defined in CudaStream.cu.
TESSERA_CUDA_ONLY std::shared_ptr<Stream> makeCudaStream(int ordinal, double mostBytes);
TESSERA_CUDA_ONLY CudaDevices listCudaDevices();

}
