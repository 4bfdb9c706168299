#include "Core/Compute/Threads/OpenMPThreads.h"

#include "Core/Compute/Threads/ChunkLoop.h"
#include "Core/Compute/Threads/WorkerPool.h"

#include <atomic>
#include <latch>
#include <pthread.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tessera {
namespace {

std::atomic<bool> isForked{false};
[[maybe_unused]] const int watchesForks = pthread_atfork(nullptr, nullptr, [] { isForked = true; });

/// True on the first thread of a process that was not forked. The parent of a forked one may have used
/// OpenMP.
bool canUseOpenMP()
{
  return getpid() == gettid() && !isForked;
}

/// How many of `wanted` more threads the system lets this process create. They are created once and ended
/// again, because OpenMP's library ends the program if it cannot create a thread.
int creatableThreads(int wanted)
{
  std::latch counted(1);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(wanted)); // from here on only threads may be refused
  try {
    while (static_cast<int>(threads.size()) < wanted)
      threads.emplace_back([&] { counted.wait(); });
  } catch (const std::exception&) { // no thread, or no memory for its state
    ChunkLoop::lacksThreads = true;
  }
  counted.count_down();
  for (std::thread& thread : threads)
    thread.join();
  return static_cast<int>(threads.size());
}

/// The size of the team for `wanted` threads. OpenMP keeps the threads of its last region, so only the
/// missing ones can be refused.
int teamSize(int wanted)
{
  static int lastWanted = 1, size = 1;
  if (wanted != lastWanted) {
    size = wanted > size ? size + creatableThreads(wanted - size) : wanted;
    lastWanted = wanted;
  }
  return size;
}

/// ThreadSanitizer does not see the begin and the end of a region, because libgomp is built without it. These
/// two counters show both: the caller releases the first one before the region and its threads acquire it;
/// each thread releases the second one at its end and the caller acquires it after the region.
std::atomic<unsigned> begun{0}, ended{0};

__attribute__((noinline)) void workInRegion(ChunkLoop* loop)
{
  begun.load(std::memory_order_acquire);
  loop->work();
  ended.fetch_add(1, std::memory_order_release);
}

/// ThreadSanitizer does not check this function, which hands a pointer to the threads and does nothing else.
__attribute__((noinline, no_sanitize("thread"))) void runRegion(ChunkLoop* loop, int threads)
{
#pragma omp parallel num_threads(threads)
  workInRegion(loop);
}

}

void runOnOpenMPThreads(std::size_t chunkCount, int threads, void (*body)(void* argument, std::size_t chunk),
                        void* argument)
{
  if (chunkCount <= 1 || threads <= 1 || ChunkLoop::isInside || !canUseOpenMP()) {
    runOnWorkers(chunkCount, threads, body, argument);
    return;
  }
  ChunkLoop loop{body, argument, chunkCount};
  const int size = teamSize(threads);
  begun.fetch_add(1, std::memory_order_release);
  runRegion(&loop, size);
  ended.load(std::memory_order_acquire);
}

}
