#pragma once

#include "Tools/Bench/Model/GpuRates.h"
#include "Tools/Bench/Model/KernelCost.h"

#include <span>
#include <string>

// Three models that predict how long a kernel takes on a GPU, from counts of its work (KernelCost) and from
// microbenchmarks (GpuRates). None has a number that was fitted to a kernel. dox/PerformanceModel.md has the
// equations and what was measured.
namespace tessera {

struct Prediction {
  double seconds = 0;
  std::string boundBy; // the resource, or "latency", that takes most of the time
};

/// The model of this project: bounds of throughput and of latency (Volkov, "Understanding latency hiding on
/// GPUs", 2016, 4.1), joined smoothly by join(a, b) = (a^p + b^p)^(1/p), for each wave of blocks.
///
///   throughput(blocks) = max over resources of use / rate, and blocks / rate of starting blocks
///   latency(phase)     = cycles of a warp alone: sum over its chain of operations / inFlight * latency
///   alone              = sum over phases of join(throughput of one block a multiprocessor, latency)
///   wave               = join(throughput of all active blocks, alone)
///   time               = launch + whole waves + the last wave
///
/// Where a multiprocessor has one block of several phases, a wave is the larger of the two.
Prediction predict(const GpuRates&, const KernelLaunch&);

/// The model of Wu et al., IEEE TPDS 2019, section 4, equations 1 to 23 without transfers. Its microbenchmark
/// of global memory is taken with all multiprocessors at work.
Prediction predictByWu(const GpuRates&, const KernelLaunch&);

/// The model of Hong and Kim, "An analytical model for a GPU architecture with memory-level and thread-level
/// parallelism awareness", ISCA 2009. An instruction takes one issue slot of one of the schedulers.
Prediction predictByHongAndKim(const GpuRates&, const KernelLaunch&);

/// Equations 22 and 23 of Wu et al.: copies from pinned memory to the device, and back.
double transferSeconds(const GpuRates&, double bytesUp, double bytesDown);

/// Equations 7 to 11 of Wu et al.: the blocks that a multiprocessor can have at a time. Divisions are rounded
/// down here, which the paper leaves out, and registers are given out 256 a warp.
int activeBlocks(const GpuRates&, const LaunchShape&);

/// The number of the block size to take by the predicted seconds: no model tells apart those within a
/// hundredth of the least, and of these the one nearest to 128 threads by its ratio is taken. NVIDIA's CUDA
/// C++ Best Practices Guide recommends 128 to 256 threads where nothing else is known.
std::size_t chosenBlockSize(std::span<const double> seconds, std::span<const int> threads);

/// The block size of the launch to take; `launches` are the same kernel with different block sizes.
std::size_t fastest(const GpuRates&, std::span<const KernelLaunch> launches);

}
