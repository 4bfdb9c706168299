// needs: Sparse
#include "Core/Compute/Threads/Parallel.h"

#include "Core/Compute/Threads/ChunkLoop.h"

#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <latch>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace tessera;

namespace {

constexpr std::size_t chunkCount = 5000;

/// Both ways to run a loop; each must keep the same promises.
class LoopOverChunks : public ::testing::TestWithParam<bool> {
protected:
  template <class Body>
  static void run(const Context& context, std::size_t chunks, Body&& body)
  {
    GetParam() ? forEachChunkByOpenMP(context, chunks, body) : forEachChunk(context, chunks, body);
  }

  static std::vector<int> callsOfEachChunk(const Context& context)
  {
    std::vector<int> calls(chunkCount);
    run(context, chunkCount, [&](std::size_t chunk) { ++calls[chunk]; });
    return calls;
  }
};

const std::vector<int> onceEach(chunkCount, 1);

/// True if loops of a new process, which cannot create a thread, still run every chunk. No memory can hold
/// the stacks that its threads would get, so the system refuses them.
template <class Calls>
bool runsWithoutThreads(Calls&& calls)
{
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, std::size_t(1) << 50);
  if (pthread_setattr_default_np(&attributes) != 0)
    return false;
  return calls() == onceEach && ChunkLoop::lacksThreads;
}

}

TEST_P(LoopOverChunks, RunsEveryChunkOnceForAnyNumberOfThreads)
{
  for (const int threads : {0, 1, 2, 3, 7, 2})
    EXPECT_EQ(callsOfEachChunk(Context{{}, threads}), onceEach) << threads;
}

TEST_P(LoopOverChunks, RunsNoChunkOfNone)
{
  run(Context{{}, 4}, 0, [](std::size_t) { FAIL(); });
}

TEST_P(LoopOverChunks, ThrowsAChunksExceptionToTheCaller)
{
  const Context context{{}, 3};
  EXPECT_THROW(run(context, chunkCount,
                   [](std::size_t chunk) {
                     if (chunk == 17)
                       throw std::runtime_error("17");
                   }),
               std::runtime_error);
  EXPECT_EQ(callsOfEachChunk(context), onceEach);
}

TEST_P(LoopOverChunks, EndsOnceItsContextIsToStop)
{
  std::atomic<bool> stop{false};
  std::atomic<int> begun{0};
  const Context context{{}, 3, nullptr, stop};
  const auto loop = [&] {
    run(context, chunkCount, [&](std::size_t) {
      ++begun;
      stop = true;
    });
  };
  EXPECT_THROW(loop(), Interrupted);
  EXPECT_LE(begun, 3);
  EXPECT_THROW(loop(), Interrupted);
  EXPECT_LE(begun, 3);
}

TEST_P(LoopOverChunks, RunsALoopInsideAChunkOnTheChunksThread)
{
  const Context context{{}, 3};
  std::vector<int> calls(chunkCount);
  run(context, chunkCount / 10, [&](std::size_t outer) {
    const std::thread::id own = std::this_thread::get_id();
    run(context, 10,
        [&](std::size_t inner) { calls[outer * 10 + inner] += std::this_thread::get_id() == own; });
  });
  EXPECT_EQ(calls, onceEach);
}

TEST_P(LoopOverChunks, ServesSeveralThreadsOfTheProgramAtATime)
{
  std::vector<std::vector<int>> calls(4);
  {
    std::vector<std::jthread> callers;
    for (std::vector<int>& of : calls)
      callers.emplace_back([&of] { of = callsOfEachChunk(Context{{}, 3}); });
    EXPECT_EQ(callsOfEachChunk(Context{{}, 3}), onceEach);
  }
  for (const std::vector<int>& of : calls)
    EXPECT_EQ(of, onceEach);
}

TEST_P(LoopOverChunks, RunsOnSeveralThreadsOfAProcessForkedDuringALoop)
{
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer knows no threads of a process that was forked from several threads";
#endif
  EXPECT_EQ(callsOfEachChunk(Context{{}, 3}), onceEach);
  std::latch isInLoop(1), isForked(1);
  std::jthread inLoop([&] {
    run(Context{{}, 3}, 2, [&](std::size_t chunk) {
      if (chunk == 0)
        isInLoop.count_down();
      isForked.wait();
    });
  });
  isInLoop.wait();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60); // ends a loop that waits for a second thread, or for one of the parent
    std::thread([] {
      std::latch bothRun(2);
      run(Context{{}, 2}, 2, [&](std::size_t) { bothRun.arrive_and_wait(); });
    }).join();
    std::exit(callsOfEachChunk(Context{{}, 3}) == onceEach ? 0 : 1); // as a program ends, with exit handlers
  }
  isForked.count_down();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_P(LoopOverChunks, RunsOnTheCallerIfNoThreadCanBeCreated)
{
  ::testing::FLAGS_gtest_death_test_style = "threadsafe"; // a new process, which has no thread yet
  EXPECT_EXIT(_exit(runsWithoutThreads([] {
                return callsOfEachChunk(Context{{}, 4});
              })
                        ? 0
                        : 1),
              ::testing::ExitedWithCode(0), "");
}

INSTANTIATE_TEST_SUITE_P(Ways, LoopOverChunks, ::testing::Bool(),
                         [](const auto& way) { return way.param ? "OpenMP" : "WorkerPool"; });

TEST(ForEachRange, CoversTheNumbersInRangesOfOneSize)
{
  std::vector<int> calls(1003);
  forEachRange(Context{{}, 2}, calls.size(), 100, [&](std::size_t first, std::size_t last) {
    EXPECT_EQ(first % 100, 0U);
    EXPECT_EQ(last, std::min<std::size_t>(first + 100, calls.size()));
    for (std::size_t i = first; i < last; ++i)
      ++calls[i];
  });
  EXPECT_EQ(calls, std::vector<int>(1003, 1));
}
