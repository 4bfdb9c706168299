#pragma once

#include <cstddef>

namespace tessera {

/// Runs body(argument, chunk) for chunk = 0 .. chunkCount-1 on the caller and on at most threads-1 workers of
/// this process, and returns when all chunks are done. The caller waits only for chunks that a worker has
/// begun. A worker that gets no processor because other programs run therefore delays nobody, as it would at
/// a barrier. `body` must not throw. A call from within a body runs on the calling thread alone. If the
/// system refuses to create a worker, the loop runs on those that exist, and ChunkLoop::lacksThreads is set.
void runOnWorkers(std::size_t chunkCount, int threads, void (*body)(void* argument, std::size_t chunk),
                  void* argument);

}
