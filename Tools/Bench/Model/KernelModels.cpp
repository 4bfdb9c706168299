#include "Tools/Bench/Model/KernelModels.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

constexpr double sectorBytes = 32, transactionBytes = 128;

double latencyOf(const GpuRates& rates, LatencyClass of)
{
  switch (of) {
  case LatencyClass::cycle:
    return 1;
  case LatencyClass::special:
    return rates.latencySpecial;
  case LatencyClass::specialFp64:
    return rates.latencySpecialFp64;
  case LatencyClass::constant:
    return rates.latencyConstant;
  case LatencyClass::shared:
    return rates.latencyShared;
  case LatencyClass::l1:
    return rates.latencyL1;
  case LatencyClass::l2:
    return rates.latencyL2;
  case LatencyClass::dram:
    return rates.latencyDram;
  case LatencyClass::barrier:
    return rates.latencyBarrier;
  }
  return 0;
}

/// amount / rate; 0 if there is nothing to do, whatever the rate.
double timeFor(double amount, double rate)
{
  return amount > 0 ? amount / std::max(rate, std::numeric_limits<double>::min()) : 0;
}

/// Seconds for bytes of DRAM: those of a copy for as many as are read and written alike, those of reading or
/// writing alone for the rest.
double dramSeconds(const GpuRates& rates, double read, double written)
{
  const double both = std::min(read, written);
  return timeFor(2 * both, rates.dramCopyBytes) + timeFor(read - both, rates.dramReadBytes)
         + timeFor(written - both, rates.dramWriteBytes);
}

struct Bound {
  double seconds = 0;
  const char* by = "";

  void atLeast(double other, const char* otherBy)
  {
    if (other > seconds)
      *this = {other, otherBy};
  }
};

/// The least time in which the device does the work of `blocks` blocks, of which the busiest multiprocessor
/// has `ofBusiest`.
Bound throughput(const GpuRates& rates, const KernelCost& cost, double warpsABlock, double blocks,
                 double ofBusiest)
{
  const double perSecond = rates.clockGHz * 1e9, warps = ofBusiest * warpsABlock,
               allWarps = blocks * warpsABlock;
  const auto inOne = [&](double use, double rate) { return timeFor(warps * use, rate * perSecond); };
  Bound bound;
  bound.atLeast(inOne(cost.issueSlots, rates.issue), "issue slots");
  bound.atLeast(inOne(cost.fp32, rates.fp32), "fp32");
  bound.atLeast(inOne(cost.fp64, rates.fp64), "fp64");
  bound.atLeast(inOne(cost.special, rates.special), "special");
  bound.atLeast(inOne(cost.integer, rates.integer), "integer");
  bound.atLeast(inOne(cost.l1Wavefronts, rates.l1Wavefronts)
                    + inOne(cost.sharedWavefronts, rates.sharedWavefronts)
                    + inOne(cost.sharedAtomics, rates.sharedAtomics),
                "L1 and shared memory");
  bound.atLeast(timeFor(warps * cost.l2Sectors * sectorBytes, rates.l2BytesOfOne), "L2 of one");
  bound.atLeast(timeFor(allWarps * cost.l2Sectors * sectorBytes, rates.l2Bytes), "L2");
  bound.atLeast(timeFor(allWarps * cost.atomicSectors, rates.atomicSectors)
                    + timeFor(allWarps * cost.meetingSectors, rates.meetingSectors),
                "atomics");
  bound.atLeast(dramSeconds(rates, allWarps * cost.dramReadBytes, allWarps * cost.dramWrittenBytes), "DRAM");
  return bound;
}

/// The time of a warp alone for its chain. It starts at most one instruction a cycle.
double latencySeconds(const GpuRates& rates, const KernelCost& cost)
{
  double cycles = 0;
  for (const ChainLink& link : cost.chain)
    cycles += link.operations / link.inFlight * latencyOf(rates, link.latency);
  return timeFor(std::max(cycles, cost.issueSlots), rates.clockGHz * 1e9);
}

/// (a^p + b^p)^(1/p)
double joined(double a, double b, double p)
{
  const double larger = std::max(a, b);
  return larger > 0 ? larger * std::pow(std::pow(a / larger, p) + std::pow(b / larger, p), 1 / p) : 0;
}

/// The time of `blocks` blocks that are active together.
Bound wave(const GpuRates& rates, const KernelLaunch& launch, const KernelCost& cost, double blocks)
{
  const double multiprocessors = std::max(1.0, rates.multiprocessors), warps = launch.shape.warpsABlock(),
               ofBusiest = std::ceil(blocks / multiprocessors);
  double alone = 0, waiting = 0;
  for (const KernelCost& phase : launch.phases) {
    const double latency = latencySeconds(rates, phase);
    alone += joined(throughput(rates, phase, warps, std::min(blocks, multiprocessors), 1).seconds, latency,
                    rates.exponent);
    waiting += latency;
  }
  Bound bound = throughput(rates, cost, warps, blocks, ofBusiest);
  bound.atLeast(timeFor(blocks, rates.blocksPerSecond), "starting blocks");
  const char* const by = waiting > bound.seconds ? "latency" : bound.by;
  // A single block that barriers cut into phases takes their sum; they are not hidden, nor do they hide
  // anything.
  const bool isSum = ofBusiest <= 1 && launch.phases.size() > 1;
  return {isSum ? std::max(bound.seconds, alone) : joined(bound.seconds, alone, rates.exponent), by};
}

/// The quantities of a warp that the two older models need.
struct OfWarp {
  double computing = 0; // cycles, by latencies
  double global = 0, shared = 0, conflicts = 1;
  double departure = 1; // cycles between two transactions of a multiprocessor, all of them at work

  OfWarp(const GpuRates& rates, const KernelCost& cost)
      : computing((cost.fp32 + cost.integer) * rates.latencyFp32 + cost.fp64 * rates.latencyFp64
                  + cost.special * rates.latencySpecial),
        global(cost.globalInstructions), shared(cost.sharedInstructions),
        conflicts(shared > 0 ? std::max(1.0, (cost.sharedWavefronts + cost.sharedAtomics) / shared) : 1),
        departure(
            timeFor(transactionBytes * rates.multiprocessors * rates.clockGHz * 1e9, rates.dramReadBytes))
  {
  }
};

}

Prediction predict(const GpuRates& rates, const KernelLaunch& launch)
{
  const LaunchShape& shape = launch.shape;
  const double atATime = std::max(1, shape.blocksAMultiprocessor) * std::max(1.0, rates.multiprocessors),
               waves = std::floor(shape.blocks / atATime), rest = shape.blocks - waves * atATime;
  const KernelCost cost = launch.cost();
  const Bound whole = wave(rates, launch, cost, atATime), last = wave(rates, launch, cost, rest);
  return {rates.launchSeconds + waves * whole.seconds + (rest > 0 ? last.seconds : 0),
          waves > 0 ? whole.by : last.by};
}

int activeBlocks(const GpuRates& rates, const LaunchShape& shape)
{
  constexpr double registersAUnit = 256, sharedUnit = 128;
  const double warps = shape.warpsABlock(),
               registersAWarp = std::ceil(shape.registers * 32 / registersAUnit) * registersAUnit,
               shared = std::ceil(shape.sharedBytes / sharedUnit) * sharedUnit + rates.reservedSharedBytes;
  double blocks = std::min(rates.maxBlocks, std::floor(rates.maxWarps / warps));
  if (registersAWarp > 0)
    blocks = std::min(blocks, std::floor(std::floor(rates.registers / registersAWarp) / warps));
  if (shared > 0)
    blocks = std::min(blocks, std::floor(rates.sharedBytes / shared));
  return static_cast<int>(blocks);
}

/// Accesses of a thread to local memory: each spilled number is stored once and loaded once.
static double accessesOfSpills(const LaunchShape& shape)
{
  return 2.0 * shape.localBytes / sizeof(float);
}

Prediction predictByWu(const GpuRates& rates, const KernelLaunch& launch)
{
  constexpr double lanes = 32;
  const LaunchShape& shape = launch.shape;
  const KernelCost cost = launch.cost();
  const OfWarp warp(rates, cost);
  const double warpsABlock = shape.warpsABlock();
  const double memory = rates.latencyDram * warp.global
                        + rates.latencyShared * warp.shared * warp.conflicts     // 1, 2, 16
                        + rates.latencyShared * lanes * accessesOfSpills(shape); // 3
  const double active = activeBlocks(rates, shape) * warpsABlock;                // 6 to 11
  const double computingAtOnce = std::min(warpsABlock, rates.schedulers);        // 4
  const double readingAtOnce = std::max(1.0, std::min(rates.latencyDram / warp.departure, active));  // 5
  const double waiting = warp.departure * (readingAtOnce - 1) * cost.barriers / warpsABlock;         // 12, 13
  const double computing = warp.computing / computingAtOnce, reading = memory / readingAtOnce;       // 14, 15
  const double warps = std::ceil(shape.blocks / std::max(1.0, rates.multiprocessors)) * warpsABlock; // 18, 19
  return {timeFor(warps * (std::max(computing, reading) + waiting), rates.clockGHz * 1e9),           // 17, 20
          computing > reading ? "arithmetic" : "memory"};
}

Prediction predictByHongAndKim(const GpuRates& rates, const KernelLaunch& launch)
{
  const LaunchShape& shape = launch.shape;
  const KernelCost cost = launch.cost();
  const OfWarp warp(rates, cost);
  const double perSecond = rates.clockGHz * 1e9, multiprocessors = std::max(1.0, rates.multiprocessors);
  const double blocks = std::max(1.0, std::min<double>(shape.blocksAMultiprocessor,
                                                       std::ceil(shape.blocks / multiprocessors))),
               n = blocks * shape.warpsABlock(), repeats = shape.blocks / (blocks * multiprocessors);
  const double computing = timeFor(cost.issueSlots, rates.issue);
  if (warp.global <= 0)
    return {computing * n * repeats / perSecond, "arithmetic"};
  // An access that needs more than one wavefront is not coalesced; its transactions are of 32 bytes.
  const double transactions = std::max(1.0, cost.l1Wavefronts / warp.global);
  const bool coalesced = transactions < 1.5;
  const double departureOne = coalesced ? warp.departure : warp.departure * sectorBytes / transactionBytes,
               departure = coalesced ? departureOne : departureOne * transactions,
               latency = rates.latencyDram + (coalesced ? 0 : (transactions - 1) * departureOne);
  const double memory = latency * warp.global;
  const double bytesAWarp = coalesced ? transactionBytes : transactions * sectorBytes;
  const double warpsOfBandwidth = rates.dramReadBytes / (perSecond * bytesAWarp / latency * multiprocessors);
  const double mwp = std::max(1.0, std::min({latency / departure, warpsOfBandwidth, n})),
               cwp = std::min((memory + computing) / std::max(computing, 1e-9), n),
               perAccess = computing / warp.global;
  double cycles = 0;
  if (mwp >= n && cwp >= n)
    cycles = memory + computing + perAccess * (mwp - 1);
  else if (cwp >= mwp || computing > memory)
    cycles = memory * n / mwp + perAccess * (mwp - 1);
  else
    cycles = latency + computing * n;
  cycles += departure * (mwp - 1) * cost.barriers * blocks;
  return {cycles * repeats / perSecond, cwp >= mwp ? "memory" : "arithmetic"};
}

double transferSeconds(const GpuRates& rates, double bytesUp, double bytesDown)
{
  return timeFor(bytesUp, rates.pinnedUpload) + timeFor(bytesDown, rates.pinnedDownload);
}

std::size_t chosenBlockSize(std::span<const double> seconds, std::span<const int> threads)
{
  constexpr double resolution = 1.01, usual = 128;
  const double least = *std::min_element(seconds.begin(), seconds.end());
  std::size_t best = 0;
  bool isFound = false; // not if a prediction is no number
  const auto distance = [&](std::size_t i) { return std::abs(std::log2(threads[i] / usual)); };
  for (std::size_t i = 0; i < seconds.size(); ++i)
    if (seconds[i] <= resolution * least && (!isFound || distance(i) < distance(best))) {
      best = i;
      isFound = true;
    }
  return best;
}

std::size_t fastest(const GpuRates& rates, std::span<const KernelLaunch> launches)
{
  std::vector<double> seconds;
  std::vector<int> threads;
  for (const KernelLaunch& launch : launches) {
    seconds.push_back(predict(rates, launch).seconds);
    threads.push_back(launch.shape.threads);
  }
  return chosenBlockSize(seconds, threads);
}

}
