#include "Tools/Bench/BenchClock.h"

#include "Core/Compute/Math/Median.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Tools/Common/Process.h"

#include <chrono>
#include <cstring>

namespace tessera {
namespace {

constexpr std::size_t flushBytes = std::size_t{256} << 20;

}

std::string cpuText(int threads)
{
  return "cpu, " + threadsText(threads);
}

std::string measuredDevice(const Context& context)
{
  return context.onCuda() ? "cuda" : cpuText(context.threads);
}

BenchResult measuredRow(const Context& context, const std::string& caseName, const std::string& method,
                        const BenchTimes& times, double items, double bytes)
{
  BenchResult result;
  result.caseName = caseName;
  result.method = method;
  result.device = measuredDevice(context);
  result.ms = times.ms;
  result.msWarm = times.msWarm;
  result.items = items;
  result.bytes = bytes;
  return result;
}

void copyBytes(Context& context, void* to, const void* from, std::size_t bytes)
{
  if (context.onCuda())
    return context.stream->copyOnDevice(to, from, bytes);
  forEachRange(context, bytes, 1 << 20, [&](std::size_t first, std::size_t last) {
    std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, last - first);
  });
}

double medianOfLongRuns(std::size_t repeats, const std::function<double()>& run)
{
  constexpr double longMs = 1000;
  run();
  std::vector<double> times;
  while (times.empty() || (times.size() < repeats && times.front() < longMs))
    times.push_back(run());
  return median(times);
}

BenchClock::BenchClock(Context& context, std::size_t repeats)
    : context_(context), repeats_(repeats), flush_(context, flushBytes)
{
}

double BenchClock::once(const std::function<void()>& work, bool flushed)
{
  if (context_.onCuda()) {
    if (flushed)
      context_.stream->fill(flush_.span().data(), 1, flushBytes);
    context_.stream->startTimer();
    work();
    return context_.stream->stopTimerMilliseconds();
  }
  if (flushed)
    forEachRange(context_, flushBytes, 1 << 20, [&](std::size_t first, std::size_t last) {
      std::memset(flush_.span().data() + first, 1, last - first);
    });
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

BenchTimes BenchClock::time(const std::function<void()>& work)
{
  constexpr int untimed = 2;
  for (int i = 0; i < untimed; ++i)
    once(work, false);
  std::vector<double> flushed, warm;
  for (std::size_t i = 0; i < repeats_; ++i)
    flushed.push_back(once(work, true));
  for (std::size_t i = 0; i < repeats_; ++i)
    warm.push_back(once(work, false));
  return {median(flushed), median(warm)};
}

void BenchClock::warmUp()
{
  constexpr double longEnough = 300; // milliseconds
  constexpr int fillsAtOnce = 100;
  for (double busy = 0; context_.onCuda() && busy < longEnough;)
    busy += once(
        [&] {
          for (int i = 0; i < fillsAtOnce; ++i)
            context_.stream->fill(flush_.span().data(), 1, flushBytes);
        },
        false);
}

}
