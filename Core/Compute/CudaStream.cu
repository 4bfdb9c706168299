#include "Core/Compute/Cuda.cuh"

#include <cstring>
#include <string>

namespace tessera {
namespace {

class CudaRecording final : public Recording {
public:
  CudaRecording(cudaGraph_t graph, cudaStream_t stream) : stream_(stream)
  {
    const cudaError_t made = cudaGraphInstantiate(&work_, graph, 0);
    cudaGraphDestroy(graph);
    checkCuda(made, "making a graph of recorded work");
  }
  ~CudaRecording() override { cudaGraphExecDestroy(work_); }

  void replay() override { checkCuda(cudaGraphLaunch(work_, stream_), "giving recorded work"); }

private:
  cudaStream_t stream_;
  cudaGraphExec_t work_ = nullptr;
};

class CudaStream final : public Stream {
public:
  explicit CudaStream(int ordinal) : ordinal_(ordinal)
  {
    makeCurrent();
    checkCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    checkCuda(cudaEventCreate(&started_), "making an event");
    checkCuda(cudaEventCreate(&stopped_), "making an event");
    checkCuda(cudaMallocHost(&small_, smallBytes), "taking pinned memory");
    cudaMemPool_t pool; // what is given back stays with the process, so that levels and iterations do not wait for the driver
    checkCuda(cudaDeviceGetDefaultMemPool(&pool, ordinal_), "asking for the memory pool");
    std::uint64_t keepAll = ~std::uint64_t{0};
    checkCuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keepAll), "setting up the memory pool");
  }
  ~CudaStream() override
  {
    cudaSetDevice(ordinal_);
    cudaStreamSynchronize(stream_);
    cudaFreeHost(small_);
    cudaEventDestroy(started_);
    cudaEventDestroy(stopped_);
    cudaStreamDestroy(stream_);
  }

  cudaStream_t native()
  {
    makeCurrent();
    return stream_;
  }

  void* allocate(std::size_t bytes) override
  {
    void* memory = nullptr;
    const cudaError_t failure = cudaMallocAsync(&memory, bytes, native());
    if (failure == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw Error(ExitCode::outOfMemory, "memory of CUDA device " + std::to_string(ordinal_) + ": " + std::to_string(bytes)
                                             + " bytes asked for: " + std::to_string(freeBytes())
                                             + " are free. Allowed: less at a time, or (Device \"cpu\").");
    }
    checkCuda(failure, "taking device memory");
    return memory;
  }
  void release(void* memory) noexcept override
  {
    if (memory && cudaSetDevice(ordinal_) == cudaSuccess)
      cudaFreeAsync(memory, stream_);
  }
  /// The driver's, and what the pool holds without using it.
  std::size_t freeBytes() override
  {
    std::size_t free = 0, total = 0;
    makeCurrent();
    checkCuda(cudaMemGetInfo(&free, &total), "asking for free memory");
    cudaMemPool_t pool;
    std::uint64_t reserved = 0, used = 0;
    checkCuda(cudaDeviceGetDefaultMemPool(&pool, ordinal_), "asking for the memory pool");
    checkCuda(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &reserved), "asking the memory pool");
    checkCuda(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), "asking the memory pool");
    return free + static_cast<std::size_t>(reserved - used);
  }

  void copyToDevice(void* device, const void* host, std::size_t bytes) override
  {
    checkCuda(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, native()), "copying to the device");
  }
  void copyToHost(void* host, const void* device, std::size_t bytes) override
  {
    void* to = bytes <= smallBytes ? small_ : host; // pinned memory: a few scalars an iteration should not wait for staging
    checkCuda(cudaMemcpyAsync(to, device, bytes, cudaMemcpyDeviceToHost, native()), "copying from the device");
    wait();
    if (to == small_)
      std::memcpy(host, small_, bytes);
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
    checkCuda(cudaMemcpyAsync(pinned, device, bytes, cudaMemcpyDeviceToHost, native()), "copying from the device");
  }

  void beginRecording() override
  {
    checkCuda(cudaStreamBeginCapture(native(), cudaStreamCaptureModeThreadLocal), "recording work");
  }
  std::unique_ptr<Recording> endRecording() override
  {
    cudaGraph_t graph = nullptr;
    checkCuda(cudaStreamEndCapture(native(), &graph), "recording work");
    return std::make_unique<CudaRecording>(graph, stream_);
  }

  void wait() override { checkCuda(cudaStreamSynchronize(native()), "waiting for the device"); }
  void startTimer() override { checkCuda(cudaEventRecord(started_, native()), "starting the device's timer"); }
  double stopTimerMilliseconds() override
  {
    float milliseconds = 0;
    checkCuda(cudaEventRecord(stopped_, native()), "stopping the device's timer");
    checkCuda(cudaEventSynchronize(stopped_), "waiting for the device");
    checkCuda(cudaEventElapsedTime(&milliseconds, started_, stopped_), "reading the device's timer");
    return milliseconds;
  }

private:
  void makeCurrent() { checkCuda(cudaSetDevice(ordinal_), "choosing the device"); }

  static constexpr std::size_t smallBytes = 4096;
  int ordinal_;
  void* small_ = nullptr;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t started_ = nullptr, stopped_ = nullptr;
};

}

void checkCuda(cudaError_t error, const char* doing)
{
  if (error == cudaSuccess)
    return;
  cudaGetLastError();
  const ExitCode code = error == cudaErrorMemoryAllocation ? ExitCode::outOfMemory : ExitCode::device;
  throw Error(code, std::string("CUDA: ") + doing + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error)
                        + "). Allowed: a working device, or (Device \"cpu\").");
}

cudaStream_t cudaStreamOf(const Context& context)
{
  return static_cast<CudaStream&>(*context.stream).native();
}

std::shared_ptr<Stream> Stream::onDevice(int ordinal)
{
  return std::make_shared<CudaStream>(ordinal);
}

CudaDevices findCudaDevices()
{
  int count = 0;
  const cudaError_t answer = cudaGetDeviceCount(&count);
  if (answer != cudaSuccess || count == 0) {
    cudaGetLastError();
    return {{}, answer == cudaSuccess ? "no CUDA device is visible" : std::string("CUDA says: ") + cudaGetErrorString(answer)};
  }
  CudaDevices devices;
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cudaDeviceProp properties;
    int kiloHertz = 0;
    checkCuda(cudaGetDeviceProperties(&properties, ordinal), "asking for a device's properties");
    checkCuda(cudaDeviceGetAttribute(&kiloHertz, cudaDevAttrClockRate, ordinal), "asking for a device's clock");
    devices.found.push_back({properties.name, properties.multiProcessorCount, kiloHertz * 1e-6, properties.totalGlobalMem,
                             static_cast<std::size_t>(properties.l2CacheSize)});
  }
  return devices;
}

}
