#pragma once

#include "Core/Compute/Buffer.h"

#include <functional>
#include <string>

namespace tessera {

struct BenchTimes {
  double ms = 0, msWarm = 0; // medians, with caches flushed before each repeat and not
};

/// "cpu, 2 threads"
std::string cpuText(int threads);
/// "cuda", or the same of the context's threads.
std::string measuredDevice(const Context&);

/// Copies on the context's device, on the CPU with all of its threads.
void copyBytes(Context&, void* to, const void* from, std::size_t bytes);

/// The median of runs after the first, which may take several times as long; of one alone if it takes
/// seconds. `run` gives its own time in milliseconds.
double medianOfLongRuns(std::size_t repeats, const std::function<double()>& run);

/// Times work on a context: by the device's clock on CUDA, the wall's on the CPU.
class BenchClock {
public:
  BenchClock(Context& context, std::size_t repeats);

  BenchTimes time(const std::function<void()>& work);

  /// To be called where a GPU may have been idle, which lowers its clock and takes a while to raise it: keeps
  /// it busy for so long.
  void warmUp();

private:
  double once(const std::function<void()>& work, bool flushed);

  Context& context_;
  std::size_t repeats_;
  Buffer<char> flush_; // larger than any cache
};

}
