#include "Tools/Bench/BenchClock.h"

#include "Core/Compute/Math/Median.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Tools/Common/Process.h"

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
  return {.caseName = caseName,
          .method = method,
          .device = measuredDevice(context),
          .ms = times.ms,
          .msWarm = times.msWarm,
          .items = items,
          .bytes = bytes};
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

BenchTimes timesOfLongRuns(std::size_t repeats, const std::function<void()>& work)
{
  const double ms = medianOfLongRuns(repeats, [&] {
    double took = 0;
    addMilliseconds(took, work);
    return took;
  });
  return {ms, ms};
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
  double took = 0;
  addMilliseconds(took, work);
  return took;
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

BenchTimes BenchClock::timeCopy(std::size_t bytes)
{
  Buffer<char> from(context_, bytes), to(context_, bytes);
  return time([&] {
    if (context_.onCuda())
      return context_.stream->copyOnDevice(to.span().data(), from.span().data(), bytes);
    forEachRange(context_, bytes, 1 << 20, [&](std::size_t first, std::size_t last) {
      std::memcpy(to.span().data() + first, from.span().data() + first, last - first);
    });
  });
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
