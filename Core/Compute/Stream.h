#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/CudaOnly.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

struct CudaDevice {
  std::string name;
  int multiprocessors = 0;
  double clockGHz = 0;
  std::size_t memoryBytes = 0;
  std::size_t cacheBytes = 0; // L2

  /// Single-precision operations a second if every lane did a fused multiply-add a cycle.
  double peakSingle() const { return 2.0 * 128 * multiprocessors * clockGHz * 1e9; }
};

/// The devices that CUDA_VISIBLE_DEVICES leaves. If there is none, `whyNone` says whether build, driver or
/// GPU is missing.
struct CudaDevices {
  std::vector<CudaDevice> found;
  std::string whyNone;
};
CudaDevices findCudaDevices();

/// Work that is given again in one piece, with the same pointers and numbers (a CUDA graph): many small
/// kernels cost one launch.
class Recording {
public:
  virtual ~Recording() = default;
  virtual void replay() = 0;
};

/// An order of work on one CUDA device; memory of the device is taken and given back in it. Every call throws
/// Error(device) with CUDA's own words if something failed before.
class Stream {
public:
  /// Throws Error(device) if the device cannot be used; in a build without CUDA it always does.
  static std::shared_ptr<Stream> onDevice(int ordinal);
  virtual ~Stream() = default;

  /// Throws Error(outOfMemory) with the bytes asked for and free.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void*) noexcept = 0;
  virtual std::size_t freeBytes() = 0;
  /// Free bytes, less those that kernels and recorded work need beside arrays.
  virtual double usableBytes() = 0;
  /// The most bytes of arrays that this process held on the device since the last call.
  virtual double takePeakBytes() = 0;

  /// Copies are ordered with the stream's other work; those to the host end before the call does.
  virtual void copyToDevice(void* device, const void* host, std::size_t bytes) = 0;
  virtual void copyToHost(void* host, const void* device, std::size_t bytes) = 0;
  virtual void copyOnDevice(void* to, const void* from, std::size_t bytes) = 0;
  virtual void fill(void* device, int byte, std::size_t bytes) = 0;

  /// Pinned memory of the host, into which copies run beside other work: what copyLater brings may be read
  /// after the next wait.
  virtual void* allocatePinned(std::size_t bytes) = 0;
  virtual void releasePinned(void*) noexcept = 0;
  virtual void copyLater(void* pinned, const void* device, std::size_t bytes) = 0;

  /// Work given between the two is not done but recorded. No memory may be taken or given back meanwhile, and
  /// nothing may wait.
  virtual void beginRecording() = 0;
  virtual std::unique_ptr<Recording> endRecording() = 0;

  /// Waits for all work given so far.
  virtual void wait() = 0;
  /// Between startTimer and the end of all work given before this call, by the device's own clock.
  virtual void startTimer() = 0;
  virtual double stopTimerMilliseconds() = 0;

  /// Time of copies between host and device so far, and bytes that went to the device (see Transfers.h).
  double transferMilliseconds() const { return transferMilliseconds_; }
  double bytesToDevice() const { return bytesToDevice_; }
  void countTransfer(double milliseconds) { transferMilliseconds_ += milliseconds; }
  void countBytesToDevice(std::size_t bytes) { bytesToDevice_ += static_cast<double>(bytes); }

private:
  std::atomic<double> transferMilliseconds_{0}, bytesToDevice_{0}; // several threads may read files for it
};

/// The parts of Stream::onDevice and findCudaDevices that need CUDA; CudaStream.cu defines them.
TESSERA_CUDA_ONLY std::shared_ptr<Stream> makeCudaStream(int ordinal);
TESSERA_CUDA_ONLY CudaDevices listCudaDevices();

}
