#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Cuda/Marks.h"
#include "Core/Compute/Memory/DeviceShare.h"
#include "Core/Compute/Memory/Transfers.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace tessera {
namespace {

/// Bytes of the device for loaded kernels and their local memory.
constexpr double besideArrays = 64 << 20;

cudaMemPool_t poolOf(int ordinal)
{
  cudaMemPool_t pool;
  checkCuda(cudaDeviceGetDefaultMemPool(&pool, ordinal), "asking for the memory pool");
  return pool;
}

/// The value in bytes of one of the pool's counters.
double poolBytes(int ordinal, cudaMemPoolAttr counter)
{
  std::uint64_t bytes = 0;
  checkCuda(cudaMemPoolGetAttribute(poolOf(ordinal), counter, &bytes), "asking the memory pool");
  return static_cast<double>(bytes);
}

/// The memory that the driver has free plus the unused memory of the pool, for the current device.
double freeOfDevice(int ordinal)
{
  std::size_t free = 0, total = 0;
  checkCuda(cudaMemGetInfo(&free, &total), "asking for free memory");
  return static_cast<double>(free) + poolBytes(ordinal, cudaMemPoolAttrReservedMemCurrent)
         - poolBytes(ordinal, cudaMemPoolAttrUsedMemCurrent);
}

__global__ void copyWords(unsigned* to, const unsigned* from, unsigned count)
{
  for (unsigned i = threadIdx.x; i < count; i += blockDim.x)
    to[i] = from[i];
}

class CudaStream final : public Stream {
public:
  CudaStream(int ordinal, double mostBytes) : ordinal_(ordinal), share_(ordinal, mostBytes)
  {
    makeCurrent();
    for (cudaStream_t& stream : streams_)
      checkCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    for (cudaEvent_t* const event : {&parted_, &joined_})
      checkCuda(cudaEventCreateWithFlags(event, cudaEventDisableTiming), "making an event");
    checkCuda(cudaEventCreate(&started_), "making an event");
    checkCuda(cudaEventCreate(&stopped_), "making an event");
    checkCuda(cudaMallocHost(&small_, smallBytes), "taking pinned memory");
    // The pool keeps released memory, so that levels and iterations do not wait for the driver.
    std::uint64_t keepAll = ~std::uint64_t{0};
    checkCuda(cudaMemPoolSetAttribute(poolOf(ordinal_), cudaMemPoolAttrReleaseThreshold, &keepAll),
              "setting up the memory pool");
  }
  ~CudaStream() override
  {
    cudaSetDevice(ordinal_);
    freeKept();
    for (const cudaStream_t stream : streams_)
      cudaStreamSynchronize(stream);
    cudaFreeHost(small_);
    destroyMarks();
    for (const cudaEvent_t event : {started_, stopped_, parted_, joined_})
      cudaEventDestroy(event);
    for (const cudaStream_t stream : streams_)
      cudaStreamDestroy(stream);
  }

  cudaStream_t native()
  {
    makeCurrent();
    return streams_[isBeside()];
  }

  void* allocate(std::size_t bytes) override
  {
    void* memory = nullptr;
    if (share_.take(static_cast<double>(bytes))) {
      if ((memory = takeKept(bytes)))
        return memory;
      cudaError_t failure = cudaMallocAsync(&memory, bytes, native());
      if (failure == cudaErrorMemoryAllocation) { // pieces of memory that the pool keeps may be too small
        cudaGetLastError();
        freeKept();
        wait();
        checkCuda(cudaMemPoolTrimTo(poolOf(ordinal_), 0), "trimming the memory pool");
        failure = cudaMallocAsync(&memory, bytes, native());
      }
      if (failure == cudaSuccess)
        return memory;
      share_.giveBack(static_cast<double>(bytes));
      if (failure != cudaErrorMemoryAllocation)
        checkCuda(failure, "taking device memory");
      cudaGetLastError();
    }
    throw Error(ExitCode::outOfMemory, "memory of CUDA device " + std::to_string(ordinal_) + ": "
                                           + std::to_string(bytes)
                                           + " bytes asked for: " + std::to_string(freeBytes())
                                           + " are free. Allowed: less at a time, or (Device \"cpu\").");
  }
  void release(void* memory, std::size_t bytes) noexcept override
  {
    if (!memory)
      return;
    share_.giveBack(static_cast<double>(bytes));
    if (!keep(memory, bytes) && cudaSetDevice(ordinal_) == cudaSuccess)
      cudaFreeAsync(memory, streams_[isBeside()]);
  }
  std::size_t freeBytes() override { return static_cast<std::size_t>(bytesLeft(0)); }
  double usableBytes() override { return bytesLeft(besideArrays); }
  double takePeakBytes() override { return share_.takePeak(); }
  DeviceShare* share() override { return &share_; }

  void copyToDevice(void* device, const void* host, std::size_t bytes) override
  {
    const double start = hostMilliseconds();
    checkCuda(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, native()),
              "copying to the device");
    countTransfer(hostMilliseconds() - start);
    countBytesToDevice(bytes);
  }
  void copyToHost(void* host, const void* device, std::size_t bytes) override
  {
    const double start = hostMilliseconds();
    // The few scalars of an iteration go through pinned memory, which needs no staging.
    void* to = bytes <= smallBytes ? small_ : host;
    copyToHostLater(to, device, bytes);
    wait();
    if (to == small_)
      std::memcpy(host, small_, bytes);
    countTransfer(hostMilliseconds() - start);
    countBytesToHost(bytes);
  }
  void copyOnDevice(void* to, const void* from, std::size_t bytes) override
  {
    checkCuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, native()), "copying on the device");
  }
  void fill(void* device, int byte, std::size_t bytes) override
  {
    checkCuda(cudaMemsetAsync(device, byte, bytes, native()), "filling device memory");
  }

  void* allocatePinned(std::size_t bytes) override
  {
    void* memory = nullptr;
    makeCurrent();
    checkCuda(cudaMallocHost(&memory, bytes), "taking pinned memory");
    return memory;
  }
  void releasePinned(void* memory) noexcept override { cudaFreeHost(memory); }
  void copyLater(void* pinned, const void* device, std::size_t bytes) override
  {
    copyToHostLater(pinned, device, bytes);
    countBytesToHost(bytes);
  }

  void sideBySide(const std::function<void()>& apart, const std::function<void()>& rest,
                  std::shared_ptr<void>* recorded) override
  {
    checkCuda(cudaEventRecord(parted_, native()), "parting streams");
    enqueueBeside(apart, recorded);
    try {
      rest();
    } catch (...) {
      cudaStreamWaitEvent(native(), joined_);
      throw;
    }
    checkCuda(cudaStreamWaitEvent(native(), joined_), "joining streams");
  }

  void wait() override { checkCuda(cudaStreamSynchronize(native()), "waiting for the device"); }
  void startTimer() override
  {
    checkCuda(cudaEventRecord(started_, native()), "starting the device's timer");
  }
  double stopTimerMilliseconds() override
  {
    float milliseconds = 0;
    checkCuda(cudaEventRecord(stopped_, native()), "stopping the device's timer");
    checkCuda(cudaEventSynchronize(stopped_), "waiting for the device");
    checkCuda(cudaEventElapsedTime(&milliseconds, started_, stopped_), "reading the device's timer");
    return milliseconds;
  }
  void keepMarks() { keepsMarks_ = true; }
  void mark(const char* part)
  {
    if (!keepsMarks_)
      return;
    cudaEvent_t event = nullptr;
    makeCurrent();
    checkCuda(cudaEventCreate(&event), "making an event");
    marks_.emplace_back(part ? part : "", event);
    checkCuda(cudaEventRecord(event, native()), "marking a part");
  }
  std::map<std::string, double> takeMarkedParts()
  {
    std::map<std::string, double> parts;
    makeCurrent();
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      float milliseconds = 0;
      checkCuda(cudaEventSynchronize(marks_[i].second), "waiting for the device");
      if (i == 0 || marks_[i].first.empty())
        continue;
      checkCuda(cudaEventElapsedTime(&milliseconds, marks_[i - 1].second, marks_[i].second),
                "reading the time of a part");
      parts[marks_[i].first] += milliseconds;
    }
    destroyMarks();
    return parts;
  }

private:
  void destroyMarks() noexcept
  {
    for (const auto& [part, event] : marks_)
      cudaEventDestroy(event);
    marks_.clear();
  }
  void enqueueBeside(const std::function<void()>& enqueue, std::shared_ptr<void>* recorded)
  {
    beside_ = std::this_thread::get_id();
    try {
      checkCuda(cudaStreamWaitEvent(native(), parted_), "parting streams");
      if (recorded && !*recorded)
        *recorded = record(enqueue);
      if (recorded)
        checkCuda(cudaGraphLaunch(static_cast<cudaGraphExec_t>(recorded->get()), native()),
                  "starting recorded work");
      else
        enqueue();
      checkCuda(cudaEventRecord(joined_, native()), "joining streams");
    } catch (...) {
      beside_ = std::thread::id();
      throw;
    }
    beside_ = std::thread::id();
  }
  /// Arrays that the work takes and gives back become its own.
  std::shared_ptr<void> record(const std::function<void()>& enqueue)
  {
    cudaGraph_t graph = nullptr;
    checkCuda(cudaStreamBeginCapture(native(), cudaStreamCaptureModeThreadLocal), "recording work");
    isRecording_ = true;
    const auto end = [&] {
      isRecording_ = false;
      return cudaStreamEndCapture(native(), &graph);
    };
    try {
      enqueue();
    } catch (...) {
      end();
      cudaGraphDestroy(graph);
      throw;
    }
    checkCuda(end(), "recording work");
    cudaGraphExec_t work = nullptr;
    const cudaError_t made = cudaGraphInstantiate(&work, graph, 0);
    cudaGraphDestroy(graph);
    checkCuda(made, "recording work");
    return {work, [](void* recorded) { cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(recorded)); }};
  }
  bool isBeside() const { return beside_.load() == std::this_thread::get_id(); }
  void makeCurrent() { checkCuda(cudaSetDevice(ordinal_), "choosing the device"); }
  double bytesLeft(double keptFree)
  {
    makeCurrent();
    return std::max(0.0,
                    std::min(freeOfDevice(ordinal_) - share_.reservedByOthers() - keptFree, share_.left()));
  }

  /// `host` is pinned memory, or has more than smallBytes. A kernel writes a few numbers in 2 microseconds;
  /// the copy engine takes 8.
  void copyToHostLater(void* host, const void* device, std::size_t bytes)
  {
    const auto isOfWords = [](std::uintptr_t number) { return number % sizeof(unsigned) == 0; };
    if (bytes > smallBytes || !isOfWords(bytes) || !isOfWords(reinterpret_cast<std::uintptr_t>(host))
        || !isOfWords(reinterpret_cast<std::uintptr_t>(device)))
      return checkCuda(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, native()),
                       "copying from the device");
    copyWords<<<1, 128, 0, native()>>>(static_cast<unsigned*>(host), static_cast<const unsigned*>(device),
                                       static_cast<unsigned>(bytes / sizeof(unsigned)));
    checkLaunch("copying from the device");
  }

  // Iterations take and release the same small arrays again and again: these are kept, by their sizes. Work
  // beside has its own, since it may begin before an array of the other work is done with.
  void* takeKept(std::size_t bytes)
  {
    if (isBeside() && isRecording_)
      return nullptr;
    const std::lock_guard lock(keptMutex_);
    auto& kept = kept_[isBeside()];
    const auto found = kept.find(bytes);
    return found == kept.end() ? nullptr : kept.extract(found).mapped();
  }
  bool keep(void* memory, std::size_t bytes) noexcept
  try {
    const std::lock_guard lock(keptMutex_);
    if (bytes > mostKeptBytes || (isBeside() && isRecording_))
      return false;
    kept_[isBeside()].emplace(bytes, memory);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
  void freeKept()
  {
    const std::lock_guard lock(keptMutex_);
    for (const int beside : {0, 1}) {
      for (const auto& [bytes, memory] : kept_[beside])
        cudaFreeAsync(memory, streams_[beside]);
      kept_[beside].clear();
    }
  }

  static constexpr std::size_t smallBytes = 4096, mostKeptBytes = std::size_t(256) << 10;
  int ordinal_;
  DeviceShare share_;
  void* small_ = nullptr;
  std::mutex keptMutex_;
  std::array<std::unordered_multimap<std::size_t, void*>, 2> kept_;
  std::array<cudaStream_t, 2> streams_{}; // the second one for work beside
  std::atomic<std::thread::id> beside_{}; // the thread whose work goes beside; none: no thread
  bool isRecording_ = false;              // the work beside
  cudaEvent_t started_ = nullptr, stopped_ = nullptr, parted_ = nullptr, joined_ = nullptr;
  bool keepsMarks_ = false;
  std::vector<std::pair<std::string, cudaEvent_t>> marks_;
};
}

void checkCuda(cudaError_t error, const char* doing)
{
  if (error == cudaSuccess)
    return;
  cudaGetLastError();
  const ExitCode code = error == cudaErrorMemoryAllocation ? ExitCode::outOfMemory : ExitCode::device;
  throw Error(code, std::string("CUDA: ") + doing + ": " + cudaGetErrorString(error) + " ("
                        + cudaGetErrorName(error) + "). Allowed: a working device, or (Device \"cpu\").");
}

cudaStream_t cudaStreamOf(const Context& context)
{
  return static_cast<CudaStream&>(*context.stream).native();
}

void keepMarksOnCuda(const Context& context)
{
  if (auto* const stream = dynamic_cast<CudaStream*>(context.stream.get()))
    stream->keepMarks();
}

void markPartOnCuda(const Context& context, const char* part)
{
  if (auto* const stream = dynamic_cast<CudaStream*>(context.stream.get()))
    stream->mark(part);
}

std::map<std::string, double> takeMarkedPartsOnCuda(const Context& context)
{
  auto* const stream = dynamic_cast<CudaStream*>(context.stream.get());
  return stream ? stream->takeMarkedParts() : std::map<std::string, double>();
}

std::shared_ptr<Stream> makeCudaStream(int ordinal, double mostBytes)
{
  return std::make_shared<CudaStream>(ordinal, mostBytes);
}

namespace {

/// The reason why cudaGetDeviceCount counted no device. CUDA reports a missing driver as one that is too old.
std::string whyNoDevice(cudaError_t answer)
{
  if (answer == cudaSuccess || answer == cudaErrorNoDevice)
    return "no CUDA device is visible";
  int driver = 0; // stays 0 without a driver
  if (answer != cudaErrorInsufficientDriver || cudaDriverGetVersion(&driver) != cudaSuccess)
    return std::string("CUDA says: ") + cudaGetErrorString(answer);
  const auto version = [](int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
  };
  return driver == 0 ? "no NVIDIA driver is installed"
                     : "the NVIDIA driver is for CUDA up to " + version(driver) + ", this build for "
                           + version(CUDART_VERSION);
}

}

CudaDevices listCudaDevices()
{
  int count = 0;
  const cudaError_t answer = cudaGetDeviceCount(&count);
  if (answer != cudaSuccess || count == 0) {
    cudaGetLastError();
    return {{}, whyNoDevice(answer)};
  }
  CudaDevices devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties;
    int kiloHertz = 0;
    checkCuda(cudaGetDeviceProperties(&properties, ordinal), "asking for a device's properties");
    checkCuda(cudaDeviceGetAttribute(&kiloHertz, cudaDevAttrClockRate, ordinal),
              "asking for a device's clock");
    devices.found.push_back({properties.name, properties.multiProcessorCount, kiloHertz * 1e-6,
                             properties.totalGlobalMem, static_cast<std::size_t>(properties.l2CacheSize)});
  }
  return devices;
}

}
