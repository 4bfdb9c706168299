#include "Core/Compute/Threads/WorkerPool.h"

#include "Core/Compute/Threads/ChunkLoop.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <system_error>
#include <thread>

namespace tessera {
namespace {

/// How long a thread without work stays awake: about the serial part between two loops of an iteration with
/// few samples. It takes about as long as one of these loops to wake a sleeping thread.
constexpr auto spinTime = std::chrono::microseconds(60);

void relax()
{
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// Waits at most spinTime for `condition` and returns whether it came true.
template <class Condition>
bool spinUntil(Condition&& condition)
{
  const auto end = std::chrono::steady_clock::now() + spinTime;
  do {
    for (int i = 0; i < 64; ++i) {
      if (condition())
        return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

/// The threads that run loops together with their callers. They are created when a loop first needs them, and
/// live as long as the process.
class WorkerPool {
public:
  /// Runs the loop on the caller and on at most `helpers` workers.
  void run(ChunkLoop& loop, int helpers)
  {
    const std::lock_guard oneLoopAtATime(callers_);
    {
      const std::lock_guard lock(mutex_);
      createWorkers(helpers);
      loop_ = &loop;
      places_ = helpers;
      loops_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();

    loop.work();

    std::unique_lock lock(mutex_);
    // No chunk is left. A worker that wakes only now must not use the loop, which ends here.
    loop_ = nullptr;
    if (busy_ == 0)
      return;
    lock.unlock();
    if (!spinUntil([&] { return busy_.load(std::memory_order_acquire) == 0; })) {
      lock.lock();
      idle_.wait(lock, [&] { return busy_ == 0; });
    }
  }

private:
  /// Creates workers until there are `wanted`. After the system has refused one, it is not asked again.
  void createWorkers(int wanted)
  {
    try {
      while (!ChunkLoop::lacksThreads && workers_ < wanted) {
        std::thread([this] { serve(); }).detach();
        ++workers_;
      }
    } catch (const std::system_error&) {
      ChunkLoop::lacksThreads = true;
    }
  }

  void serve()
  {
    std::size_t seen = 0; // the number of the last loop that this worker has joined or missed
    while (true) {
      spinUntil([&] { return loops_.load(std::memory_order_acquire) != seen; });
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return loops_.load(std::memory_order_relaxed) != seen; });
      seen = loops_.load(std::memory_order_relaxed);
      ChunkLoop* const loop = loop_;
      if (!loop || places_ == 0)
        continue;
      --places_;
      ++busy_;
      lock.unlock();

      loop->work();

      lock.lock();
      if (busy_.fetch_sub(1, std::memory_order_release) == 1)
        idle_.notify_one();
    }
  }

  std::mutex callers_; // held by the thread whose loop runs
  std::mutex mutex_;   // guards all members below
  std::condition_variable wake_, idle_;
  int workers_ = 0;
  ChunkLoop* loop_ = nullptr;         // null between loops
  int places_ = 0;                    // how many more workers may join the loop
  std::atomic<std::size_t> loops_{0}; // loops begun so far
  std::atomic<int> busy_{0};          // workers that run chunks of the loop
};

/// Never destroyed: workers may wait on it until the process has ended. A forked process has no workers, and
/// a thread that does not exist there may have held a mutex, so it begins with a new pool in the same place.
WorkerPool* const pool = [] {
  pthread_atfork(nullptr, nullptr, [] { new (pool) WorkerPool; });
  return new WorkerPool;
}();

}

void runOnWorkers(std::size_t chunkCount, int threads, void (*body)(void*, std::size_t), void* argument)
{
  const auto helpers =
      static_cast<int>(std::min<std::size_t>(chunkCount, static_cast<std::size_t>(std::max(threads, 1)))) - 1;
  if (helpers <= 0 || ChunkLoop::isInside) {
    for (std::size_t chunk = 0; chunk < chunkCount; ++chunk)
      body(argument, chunk);
  } else {
    ChunkLoop loop{body, argument, chunkCount};
    pool->run(loop, helpers);
  }
}

}
