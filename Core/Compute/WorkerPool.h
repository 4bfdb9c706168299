#pragma once

#include <cstddef>

namespace tessera {

/// Runs body(argument, chunk) for chunk = 0 .. chunkCount-1 on the caller and at most threads - 1 workers of
/// this process, and returns when all are done. The caller waits only for chunks that a worker has begun: a
/// worker that other programs keep from running costs nothing (a barrier would wait for it). `body` must not
/// throw. A call from within a body runs on that thread alone.
void runOnWorkers(std::size_t chunkCount, int threads, void (*body)(void* argument, std::size_t chunk),
                  void* argument);

}
