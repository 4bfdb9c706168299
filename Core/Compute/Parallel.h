#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/WorkerPool.h"

#include <atomic>
#include <cstddef>
#include <exception>

namespace tessera {

/// Calls body(chunk) for chunk = 0 .. chunkCount-1 on the context's threads, in any order.
/// Results repeat for any thread count if each chunk writes only what it owns, and if what
/// a chunk is does not depend on the thread count. The first exception is rethrown.
template <class Body>
void forEachChunk(const Context& context, std::size_t chunkCount, Body&& body)
{
  struct Guarded {
    Body& body;
    std::atomic<bool> failed{false};
    std::exception_ptr failure;
  } guarded{body, {}, {}};
  const auto call = [](void* argument, std::size_t chunk) {
    Guarded& guarded = *static_cast<Guarded*>(argument);
    if (guarded.failed.load(std::memory_order_relaxed))
      return;
    try {
      guarded.body(chunk);
    } catch (...) {
      if (!guarded.failed.exchange(true))
        guarded.failure = std::current_exception();
    }
  };
  runOnWorkers(chunkCount, context.threads, call, &guarded);
  if (guarded.failure)
    std::rethrow_exception(guarded.failure);
}

/// Calls body(first, last) over [0, count) in ranges of `rangeSize` (the last one shorter).
template <class Body>
void forEachRange(const Context& context, std::size_t count, std::size_t rangeSize, Body&& body)
{
  forEachChunk(context, (count + rangeSize - 1) / rangeSize, [&](std::size_t range) {
    const std::size_t first = range * rangeSize;
    const std::size_t last = first + rangeSize < count ? first + rangeSize : count;
    body(first, last);
  });
}

}
