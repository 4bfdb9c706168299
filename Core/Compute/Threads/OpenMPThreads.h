#pragma once

#include <cstddef>

namespace tessera {

/// Runs body(argument, chunk) for chunk = 0 .. chunkCount-1 on `threads` threads of OpenMP, one of which is
/// the caller, and returns when all threads have ended their part. This barrier waits for a thread that gets
/// no processor, so only loops of many milliseconds should run here; others use runOnWorkers, which this
/// function calls wherever OpenMP cannot serve: on any thread but the first of the process (each would get a
/// team of threads of its own), and in a forked process (OpenMP's threads do not exist there, and the barrier
/// would never end). `body` must not throw. A call from within a body runs on the calling thread alone.
void runOnOpenMPThreads(std::size_t chunkCount, int threads, void (*body)(void* argument, std::size_t chunk),
                        void* argument);

}
