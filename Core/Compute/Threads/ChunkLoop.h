#pragma once

#include <atomic>
#include <cstddef>

namespace tessera {

/// A parallel loop. Each of its threads calls work(), which takes the next chunk from a counter until none is
/// left.
struct ChunkLoop {
  /// True on a thread that runs a chunk. A loop that the chunk starts runs on that thread alone.
  static inline thread_local bool isInside = false;
  /// True once the system has refused to create a thread for a loop. Loops then run on the threads that
  /// exist.
  static inline std::atomic<bool> lacksThreads = false;

  void (*body)(void* argument, std::size_t chunk) = nullptr;
  void* argument = nullptr;
  std::size_t chunkCount = 0;
  std::atomic<std::size_t> nextChunk{0};

  void work()
  {
    const bool wasInside = isInside;
    isInside = true;
    for (std::size_t chunk; (chunk = nextChunk.fetch_add(1, std::memory_order_relaxed)) < chunkCount;)
      body(argument, chunk);
    isInside = wasInside;
  }
};

}
