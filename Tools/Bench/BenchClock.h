#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Tools/Bench/BenchReport.h"

#include <functional>
#include <string>

namespace tessera {

struct BenchTimes {
  double ms = 0, msWarm = 0; // medians, with caches flushed before each repeat and without
};

/// Text for tables, for example "cpu, 2 threads".
std::string cpuText(int threads);
/// "cuda", or cpuText() with the context's number of threads.
std::string measuredDevice(const Context&);

/// A row of work on the context that handles so many items and must move so many bytes.
BenchResult measuredRow(const Context&, const std::string& caseName, const std::string& method,
                        const BenchTimes&, double items, double bytes);

/// The median over runs, without the first run, which may take several times as long. If a run takes seconds,
/// it is run once only. `run` must return its time in milliseconds.
double medianOfLongRuns(std::size_t repeats, const std::function<double()>& run);
/// The same of work by wall time, with caches as they are.
BenchTimes timesOfLongRuns(std::size_t repeats, const std::function<void()>& work);

/// Measures work on a context: by the device's clock on CUDA, by wall time on the CPU.
class BenchClock {
public:
  BenchClock(Context& context, std::size_t repeats);

  BenchTimes time(const std::function<void()>& work);
  /// Copying so many bytes on the context's device; on the CPU with all of the context's threads.
  BenchTimes timeCopy(std::size_t bytes);

  /// Keeps a GPU busy for some time. A GPU that was idle has lowered its clock, and measurements must not
  /// begin before it has raised the clock again.
  void warmUp();

private:
  double once(const std::function<void()>& work, bool flushed);

  Context& context_;
  std::size_t repeats_;
  Buffer<char> flush_; // larger than any cache
};

}
