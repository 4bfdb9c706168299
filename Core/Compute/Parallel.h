#pragma once

#include "Core/Compute/Context.h"

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
  if (context.threads <= 1 || chunkCount <= 1) {
    for (std::size_t chunk = 0; chunk < chunkCount; ++chunk)
      body(chunk);
    return;
  }
  std::exception_ptr failure;
  std::atomic<bool> failed{false};
#pragma omp parallel for schedule(dynamic, 1) num_threads(context.threads)
  for (std::ptrdiff_t chunk = 0; chunk < static_cast<std::ptrdiff_t>(chunkCount); ++chunk) {
    if (failed)
      continue;
    try {
      body(static_cast<std::size_t>(chunk));
    } catch (...) {
#pragma omp critical(tesseraForEachChunkFailure)
      if (!failed.exchange(true))
        failure = std::current_exception();
    }
  }
  if (failure)
    std::rethrow_exception(failure);
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
