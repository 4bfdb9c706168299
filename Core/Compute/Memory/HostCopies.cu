#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Compute/Threads/ChunkLoop.h"
#include "Core/Compute/Threads/Parallel.h"

#include <sys/mman.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
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

/// Whether copies go through pinned pieces: not to and from pinned memory or that of a device.
bool isPageable(const void* memory)
{
  cudaPointerAttributes attributes{};
  checkCuda(cudaPointerGetAttributes(&attributes, memory), "asking for a pointer's memory");
  return attributes.type == cudaMemoryTypeUnregistered;
}

/// Copies past the caches, which the written memory would only push out of them.
void copyStreamed(std::byte* to, const std::byte* from, std::size_t bytes)
{
#if defined(__SSE2__)
  const std::size_t head = std::min(bytes, (64 - reinterpret_cast<std::uintptr_t>(to) % 64) % 64);
  std::memcpy(to, from, head);
  std::size_t at = head;
  for (; at + 64 <= bytes; at += 64) {
    __m128i words[4];
    std::memcpy(words, from + at, 64);
    for (int i = 0; i < 4; ++i)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at) + i, words[i]);
  }
  _mm_sfence();
  std::memcpy(to + at, from + at, bytes - at);
#else
  std::memcpy(to, from, bytes);
#endif
}

void copyOnHost(const Context& context, void* to, const void* from, std::size_t bytes)
{
  constexpr std::size_t share = std::size_t(256) << 10;
  forEachRange(context, bytes, share, [&](std::size_t first, std::size_t last) {
    std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                last - first);
  });
}

void copyFromPinned(const Context& context, void* to, const void* from, std::size_t bytes)
{
  if (ChunkLoop::isInside) // the thread of a lane
    return copyStreamed(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes);
  copyOnHost(context, to, from, bytes);
}

constexpr std::size_t large = std::size_t(1) << 20; // smaller copies gain no time by pieces

/// A very large copy is shared out among threads that each have pinned pieces of their own, and neither wait
/// for each other nor for those of another device.
constexpr std::size_t veryLarge = std::size_t(16) << 20, pieceOfLane = std::size_t(4) << 20;

/// Calls body(first byte, last byte, size of its pieces) for shares of a copy, each on a thread of its own,
/// or once for a copy that is not very large.
template <class Body>
void forLanes(const Context& context, std::size_t bytes, Body&& body)
{
  constexpr std::size_t maxLanes = 8;
  const std::size_t pieces = ceilDiv(bytes, pieceOfLane),
                    lanes = std::min({static_cast<std::size_t>(context.threads), maxLanes, pieces});
  if (bytes < veryLarge || lanes < 2 || ChunkLoop::isInside)
    return body(std::size_t{0}, bytes, CopiesToHost::usualBytes);
  std::vector<std::exception_ptr> errors(lanes);
  const auto run = [&](std::size_t lane) {
    const bool wasInside = std::exchange(ChunkLoop::isInside, true);
    try {
      body(pieces * lane / lanes * pieceOfLane, std::min(pieces * (lane + 1) / lanes * pieceOfLane, bytes),
           pieceOfLane);
    } catch (...) {
      errors[lane] = std::current_exception();
    }
    ChunkLoop::isInside = wasInside;
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t lane = 1; lane < lanes; ++lane)
      try {
        threads.emplace_back(run, lane);
      } catch (const std::system_error&) { // the system refuses a thread
        run(lane);
      }
    run(0);
  }
  for (const std::exception_ptr& error : errors)
    if (error)
      std::rethrow_exception(error);
}

void copyInPieces(const Context& context, void* device, const void* host, std::size_t bytes)
{
  if (!isPageable(host)) {
    const cudaStream_t stream = cudaStreamOf(context);
    countBytesToDevice(context, bytes);
    checkCuda(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream), "copying to the device");
    return checkCuda(cudaStreamSynchronize(stream), "waiting for a copy");
  }
  forLanes(context, bytes, [&](std::size_t first, std::size_t last, std::size_t bytesOfPiece) {
    PiecesToDevice pieces(context, bytesOfPiece);
    for (std::size_t done = first; done < last; done += bytesOfPiece) {
      const std::size_t share = std::min(last - done, bytesOfPiece);
      copyOnHost(context, pieces.next(), static_cast<const std::byte*>(host) + done, share);
      pieces.send(static_cast<std::byte*>(device) + done, share);
    }
    pieces.finish();
  });
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
    copyFromPinned(context_, host, p.pinned->data(), p.bytes);
}

void CopiesToHost::begin(int piece, void* host, const void* device, std::size_t bytes, After after)
{
  Piece& p = *pieces_[piece];
  const cudaStream_t stream = cudaStreamOf(context_);
  if (after == After::allGiven)
    p.lane.follow(stream);
  void* to = host;
  if (isPageable(host)) {
    if (p.pinnedBytes < bytes) {
      p.pinnedBytes = bytes;
      p.pinned.reset();
      p.pinned = std::make_unique<PinnedPiece>(p.pinnedBytes);
    }
    to = p.pinned->data();
    p.host = host;
    p.bytes = bytes;
  }
  checkCuda(cudaMemcpyAsync(to, device, bytes, cudaMemcpyDefault, p.lane.stream), "copying from the device");
  countBytesToHost(context_, bytes);
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
    forLanes(context, bytes, [&](std::size_t first, std::size_t last, std::size_t bytesOfPiece) {
      CopiesToHost copies(context);
      std::size_t piece = 0;
      for (std::size_t done = first; done < last; done += bytesOfPiece, ++piece) {
        const int turn = static_cast<int>(piece % CopiesToHost::pieces);
        copies.finish(turn);
        copies.begin(turn, static_cast<std::byte*>(host) + done, static_cast<const std::byte*>(device) + done,
                     std::min(last - done, bytesOfPiece));
      }
      for (int turn = 0; turn < CopiesToHost::pieces; ++turn)
        copies.finish(turn);
    });
  });
  countTransfer(context, took);
}

}
