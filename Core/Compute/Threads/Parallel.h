#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Threads/OpenMPThreads.h"
#include "Core/Compute/Threads/WorkerPool.h"

#include <atomic>
#include <cstddef>
#include <exception>

namespace tessera {

/// Runs the chunks 0 .. chunkCount-1 by `run`, which is runOnWorkers or runOnOpenMPThreads. The first
/// exception of a chunk is thrown again in the caller, and chunks that have not begun by then are left out,
/// as they are once the context is to stop: then it throws Interrupted.
template <class Run, class Body>
void runChunks(Run* run, const Context& context, std::size_t chunkCount, Body&& body)
{
  struct Guarded {
    Body& body;
    Stop stop;
    std::atomic<bool> failed{false};
    std::exception_ptr failure;
  } guarded{body, context.stop, {}, {}};
  const auto call = [](void* argument, std::size_t chunk) {
    Guarded& guarded = *static_cast<Guarded*>(argument);
    if (guarded.failed.load(std::memory_order_relaxed))
      return;
    try {
      guarded.stop.endIfAsked();
      guarded.body(chunk);
    } catch (...) {
      if (!guarded.failed.exchange(true))
        guarded.failure = std::current_exception();
    }
  };
  run(chunkCount, context.threads, call, &guarded);
  if (guarded.failure)
    std::rethrow_exception(guarded.failure);
}

/// Calls body(chunk) for chunk = 0 .. chunkCount-1 on the context's threads, in any order. Results repeat for
/// any number of threads if each chunk writes only its own part of the output, and if the cut into chunks
/// does not depend on the number of threads. The first exception is thrown again in the caller, and
/// Interrupted once the context is to stop.
template <class Body>
void forEachChunk(const Context& context, std::size_t chunkCount, Body&& body)
{
  runChunks(runOnWorkers, context, chunkCount, body);
}

/// The same by OpenMP, for loops over whole volumes and matrices. They take many milliseconds, so the barrier
/// at their end costs little. Results are those of forEachChunk.
template <class Body>
void forEachChunkByOpenMP(const Context& context, std::size_t chunkCount, Body&& body)
{
  runChunks(runOnOpenMPThreads, context, chunkCount, body);
}

/// A body for a loop over chunks: chunk i calls body(first, last) with the i-th range of `rangeSize` in
/// [0, count). The last range may be shorter.
template <class Body>
auto chunkOfRanges(std::size_t count, std::size_t rangeSize, Body& body)
{
  return [count, rangeSize, &body](std::size_t range) {
    const std::size_t first = range * rangeSize;
    body(first, first + rangeSize < count ? first + rangeSize : count);
  };
}

/// Calls body(first, last) for all ranges of `rangeSize` in [0, count), as forEachChunk does.
template <class Body>
void forEachRange(const Context& context, std::size_t count, std::size_t rangeSize, Body&& body)
{
  forEachChunk(context, (count + rangeSize - 1) / rangeSize, chunkOfRanges(count, rangeSize, body));
}

/// The same by OpenMP: see forEachChunkByOpenMP.
template <class Body>
void forEachRangeByOpenMP(const Context& context, std::size_t count, std::size_t rangeSize, Body&& body)
{
  forEachChunkByOpenMP(context, (count + rangeSize - 1) / rangeSize, chunkOfRanges(count, rangeSize, body));
}

}
