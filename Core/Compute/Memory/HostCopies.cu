#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Compute/Threads/Parallel.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace tessera {
namespace {

/// Pinned memory of the host. To allocate it takes longer than to fill it once, so it is kept for the next
/// object until the process ends. With large pages this takes half the time.
class PinnedPiece {
public:
  explicit PinnedPiece(std::size_t bytes)
  {
    const std::lock_guard lock(mutex());
    const auto found = std::find_if(kept().begin(), kept().end(),
                                    [&](const Memory& memory) { return memory.bytes >= bytes; });
    if (found != kept().end()) {
      memory_ = *found;
      kept().erase(found);
      return;
    }
    memory_.bytes = (bytes + largePageBytes - 1) / largePageBytes * largePageBytes;
    memory_.data = std::aligned_alloc(largePageBytes, memory_.bytes);
    if (!memory_.data)
      throw std::bad_alloc();
    madvise(memory_.data, memory_.bytes, MADV_HUGEPAGE); // without large pages it works too
    checkCuda(cudaHostRegister(memory_.data, memory_.bytes, cudaHostRegisterPortable), "pinning memory");
  }
  ~PinnedPiece()
  {
    const std::lock_guard lock(mutex());
    if (memory_.bytes <= CopiesToHost::usualBytes) {
      kept().push_back(memory_);
    } else {
      cudaHostUnregister(memory_.data);
      std::free(memory_.data);
    }
  }
  PinnedPiece(const PinnedPiece&) = delete;
  PinnedPiece& operator=(const PinnedPiece&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(memory_.data); }

private:
  static constexpr std::size_t largePageBytes = std::size_t(2) << 20;
  struct Memory {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  static std::mutex& mutex()
  {
    static std::mutex mutex;
    return mutex;
  }
  static std::vector<Memory>& kept()
  {
    static std::vector<Memory> memories;
    return memories;
  }

  Memory memory_;
};

/// A stream and an event of its own, so that copies run beside kernels.
struct Lane {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;

  explicit Lane(const Context& context)
  {
    cudaStreamOf(context); // makes the context's device the current one
    checkCuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    checkCuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  }
  ~Lane()
  {
    cudaStreamSynchronize(stream);
    cudaEventDestroy(event);
    cudaStreamDestroy(stream);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  void follow(cudaStream_t other)
  {
    checkCuda(cudaEventRecord(event, other), "marking a place in a stream");
    checkCuda(cudaStreamWaitEvent(stream, event, 0), "ordering two streams");
  }
  void precede(cudaStream_t other)
  {
    checkCuda(cudaEventRecord(event, stream), "marking a place in a stream");
    checkCuda(cudaStreamWaitEvent(other, event, 0), "ordering two streams");
  }
  void wait() { checkCuda(cudaStreamSynchronize(stream), "waiting for a copy"); }
};

bool isPinned(const void* host)
{
  cudaPointerAttributes attributes{};
  checkCuda(cudaPointerGetAttributes(&attributes, host), "asking for a pointer's memory");
  return attributes.type == cudaMemoryTypeHost || attributes.type == cudaMemoryTypeManaged;
}

void copyOnHost(const Context& context, void* to, const void* from, std::size_t bytes)
{
  constexpr std::size_t share = std::size_t(256) << 10;
  forEachRange(context, bytes, share, [&](std::size_t first, std::size_t last) {
    std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                last - first);
  });
}

constexpr std::size_t large = std::size_t(1) << 20; // smaller copies gain no time by pieces

void copyInPieces(const Context& context, void* device, const void* host, std::size_t bytes)
{
  if (isPinned(host)) {
    const cudaStream_t stream = cudaStreamOf(context);
    countBytesToDevice(context, bytes);
    checkCuda(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream), "copying to the device");
    return checkCuda(cudaStreamSynchronize(stream), "waiting for a copy");
  }
  PiecesToDevice pieces(context, CopiesToHost::usualBytes);
  for (std::size_t done = 0; done < bytes; done += CopiesToHost::usualBytes) {
    const std::size_t share = std::min(bytes - done, CopiesToHost::usualBytes);
    copyOnHost(context, pieces.next(), static_cast<const std::byte*>(host) + done, share);
    pieces.send(static_cast<std::byte*>(device) + done, share);
  }
  pieces.finish();
}

}

struct PiecesToDevice::Piece {
  Piece(const Context& context, std::size_t bytes) : pinned(bytes), lane(context) {}

  PinnedPiece pinned;
  Lane lane; // the last member, so that it is destroyed first and waits for copies
};

PiecesToDevice::PiecesToDevice(const Context& context, std::size_t bytesOfPiece)
    : context_(context), bytes_(bytesOfPiece)
{
}

PiecesToDevice::~PiecesToDevice() = default;

std::byte* PiecesToDevice::next()
{
  turn_ = (turn_ + 1) % pieces;
  auto& piece = pieces_[turn_];
  if (!piece)
    piece = std::make_unique<Piece>(context_, bytes_);
  piece->lane.wait();
  return piece->pinned.data();
}

void PiecesToDevice::send(void* device, std::size_t bytes)
{
  Piece& piece = *pieces_[turn_];
  const cudaStream_t stream = cudaStreamOf(context_);
  piece.lane.follow(stream);
  checkCuda(cudaMemcpyAsync(device, piece.pinned.data(), bytes, cudaMemcpyHostToDevice, piece.lane.stream),
            "copying to the device");
  piece.lane.precede(stream);
  countBytesToDevice(context_, bytes);
}

void PiecesToDevice::finish()
{
  for (const auto& piece : pieces_)
    if (piece)
      piece->lane.wait();
}

struct CopiesToHost::Piece {
  explicit Piece(const Context& context) : lane(context) {}

  std::unique_ptr<PinnedPiece> pinned;
  std::size_t pinnedBytes = 0;
  // The destination of what the pinned memory holds; null if nothing is under way to it.
  void* host = nullptr;
  std::size_t bytes = 0;
  Lane lane; // the last member, so that it is destroyed first and waits for copies
};

CopiesToHost::CopiesToHost(const Context& context) : context_(context)
{
  for (auto& piece : pieces_)
    piece = std::make_unique<Piece>(context);
}

CopiesToHost::~CopiesToHost() = default;

void CopiesToHost::finish(int piece)
{
  Piece& p = *pieces_[piece];
  p.lane.wait();
  if (void* host = std::exchange(p.host, nullptr))
    copyOnHost(context_, host, p.pinned->data(), p.bytes);
}

void CopiesToHost::begin(int piece, void* host, const void* device, std::size_t bytes, After after)
{
  Piece& p = *pieces_[piece];
  const cudaStream_t stream = cudaStreamOf(context_);
  if (after == After::allGiven)
    p.lane.follow(stream);
  void* to = host;
  if (!isPinned(host)) {
    if (p.pinnedBytes < bytes) {
      p.pinnedBytes = std::max(bytes, usualBytes);
      p.pinned.reset();
      p.pinned = std::make_unique<PinnedPiece>(p.pinnedBytes);
    }
    to = p.pinned->data();
    p.host = host;
    p.bytes = bytes;
  }
  checkCuda(cudaMemcpyAsync(to, device, bytes, cudaMemcpyDeviceToHost, p.lane.stream),
            "copying from the device");
}

void copyLargeToDevice(const Context& context, void* device, const void* host, std::size_t bytes)
{
  if (bytes < large)
    return context.stream->copyToDevice(device, host, bytes);
  double took = 0;
  addMilliseconds(took, [&] { copyInPieces(context, device, host, bytes); });
  countTransfer(context, took);
}

void copyLargeToHost(const Context& context, void* host, const void* device, std::size_t bytes)
{
  if (bytes < large)
    return context.stream->copyToHost(host, device, bytes);
  double took = 0;
  addMilliseconds(took, [&] {
    CopiesToHost copies(context);
    std::size_t piece = 0;
    for (std::size_t done = 0; done < bytes; done += CopiesToHost::usualBytes, ++piece) {
      const int turn = static_cast<int>(piece % CopiesToHost::pieces);
      copies.finish(turn);
      copies.begin(turn, static_cast<std::byte*>(host) + done, static_cast<const std::byte*>(device) + done,
                   std::min(bytes - done, CopiesToHost::usualBytes));
    }
    for (int turn = 0; turn < CopiesToHost::pieces; ++turn)
      copies.finish(turn);
  });
  countTransfer(context, took);
}

}
