#include "Core/Compute/WorkerPool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace tessera {
namespace {

constexpr auto spinTime =
    std::chrono::microseconds(60); // about the serial part between two loops of an iteration

void relax()
{
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// True as soon as `condition` is, false if it is not within spinTime.
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

struct Loop {
  std::size_t chunkCount = 0;
  void (*body)(void*, std::size_t) = nullptr;
  void* argument = nullptr;
  std::atomic<std::size_t> nextChunk{0};

  void work()
  {
    for (std::size_t chunk; (chunk = nextChunk.fetch_add(1, std::memory_order_relaxed)) < chunkCount;)
      body(argument, chunk);
  }
};

thread_local bool insideLoop = false;

class WorkerPool {
public:
  static WorkerPool& instance()
  {
    static WorkerPool pool;
    return pool;
  }

  void run(Loop& loop, int helpers)
  {
    const std::lock_guard one(callers_);
    {
      const std::lock_guard lock(mutex_);
      while (static_cast<int>(workers_.size()) < helpers)
        workers_.emplace_back([this] { serve(); });
      loop_ = &loop;
      places_ = helpers;
      loops_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();

    insideLoop = true;
    loop.work();
    insideLoop = false;

    std::unique_lock lock(mutex_);
    loop_ = nullptr; // who has not begun shall not
    if (busy_ == 0)
      return;
    lock.unlock();
    if (!spinUntil([&] { return busy_.load(std::memory_order_acquire) == 0; })) {
      lock.lock();
      idle_.wait(lock, [&] { return busy_ == 0; });
    }
  }

private:
  ~WorkerPool()
  {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      loops_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (std::thread& worker : workers_)
      worker.join();
  }

  void serve()
  {
    insideLoop = true;
    std::size_t seen = 0;
    while (true) {
      spinUntil([&] { return loops_.load(std::memory_order_acquire) != seen; });
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return loops_.load(std::memory_order_relaxed) != seen; });
      seen = loops_.load(std::memory_order_relaxed);
      if (ending_)
        return;
      Loop* const loop = loop_;
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

  std::mutex callers_; // one loop at a time
  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::vector<std::thread> workers_;
  Loop* loop_ = nullptr;
  int places_ = 0;
  bool ending_ = false;
  std::atomic<std::size_t> loops_{0};
  std::atomic<int> busy_{0};
};

}

void runOnWorkers(std::size_t chunkCount, int threads, void (*body)(void*, std::size_t), void* argument)
{
  Loop loop;
  loop.chunkCount = chunkCount;
  loop.body = body;
  loop.argument = argument;
  const auto helpers =
      static_cast<int>(std::min<std::size_t>(chunkCount, static_cast<std::size_t>(std::max(threads, 1)))) - 1;
  if (helpers <= 0 || insideLoop)
    loop.work();
  else
    WorkerPool::instance().run(loop, helpers);
}

}
