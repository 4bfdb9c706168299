#include "Tools/Bench/Model/KernelCounts.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tessera {
namespace {

constexpr int segmentLength = 16;

/// How many lanes of a warp meet in a bank of shared memory when a row is exchanged (rowSlot), the mean
/// over the steps of the first warps.
double lanesAtABank(int segments)
{
  constexpr int warps = 4, banks = 32;
  double wavefronts = 0;
  for (int warp = 0; warp < warps; ++warp)
    for (int k = 0; k < segmentLength; ++k) {
      std::array<int, banks> lanes{};
      for (int lane = 0; lane < 32; ++lane) {
        const int thread = 32 * warp + lane, line = thread / segments,
                  e = line * segments * segmentLength + thread % segments + k * segments;
        ++lanes[static_cast<std::size_t>((e + e / segmentLength) % banks)];
      }
      wavefronts += *std::max_element(lanes.begin(), lanes.end());
    }
  return wavefronts / (warps * segmentLength);
}

}

/// A thread loads, filters and stores a segment of 16 elements, through shared memory so that lanes read
/// and write neighbours. 340 instructions find and load them (places beyond the ends of the line by a
/// division), 138 exchange and sum them, 30 fetch the neighbours' sums on each side, 84 filter, and 297
/// store.
KernelLaunch prefilterCounts(const Context& context, const ExponentialFilter& terms, const LinesOnCuda& rows)
{
  const RowsLaunch launch = filterRowsLaunch(context, terms, rows);
  constexpr double warpBytes = 128, segment = segmentLength;
  const double sides = 2.0 * std::min(launch.reach, launch.segments - 1);
  // The lanes of a warp lie in so many lines, and each has wavefronts of its own.
  const double lines = std::max(1.0, 32.0 / launch.segments) + 0.4;
  const double written = 1.0 * rows.length / (launch.segments * segment); // share of the threads' elements
  const double meetings = lanesAtABank(launch.segments);
  KernelCost load, sum, filter, store;
  load.issueSlots = 340;
  load.fp32 = 150;
  load.special = 6;
  load.integer = 160;
  load.globalInstructions = segment;
  load.l1Wavefronts = lines * segment;
  load.sharedInstructions = segment;
  load.sharedWavefronts = meetings * segment;
  load.l2Sectors = 4 * segment * written;
  load.dramReadBytes = warpBytes * segment * written;
  load.barriers = 1;
  load.chain = {{LatencyClass::cycle, 750},
                {LatencyClass::special, 6},
                {LatencyClass::constant, 2},
                {LatencyClass::dram, segment, segment},
                {LatencyClass::barrier, 1}};
  sum.issueSlots = 138;
  sum.fp32 = 42;
  sum.integer = 30;
  sum.sharedInstructions = sum.sharedWavefronts = segment + 2;
  sum.barriers = 1;
  sum.chain = {{LatencyClass::cycle, 300}, {LatencyClass::shared, 3}, {LatencyClass::barrier, 1}};
  filter.issueSlots = 84 + 30 * sides;
  filter.fp32 = 63 + 4 * sides;
  filter.integer = 14 * sides;
  filter.sharedInstructions = filter.sharedWavefronts = segment + sides;
  filter.barriers = 1;
  filter.chain = {
      {LatencyClass::cycle, 250 + 150 * sides}, {LatencyClass::shared, 2}, {LatencyClass::barrier, 1}};
  store.issueSlots = 297;
  store.fp32 = 37;
  store.integer = 166;
  store.globalInstructions = segment * written;
  store.l1Wavefronts = lines * segment * written;
  store.sharedInstructions = segment;
  store.sharedWavefronts = (1 + (meetings - 1) * written) * segment;
  store.l2Sectors = 4 * segment * written;
  store.dramWrittenBytes = warpBytes * segment * written;
  store.chain = {{LatencyClass::cycle, 455}, {LatencyClass::shared, 13}};
  return {"prefilter", {load, sum, filter, store}, launch.shape};
}

/// 149 instructions find a value's line by divisions, and 5 handle a tap. The rows of a block share what they
/// read through the L1 cache; loads wait eight at a time.
KernelLaunch tapCounts(const LinesOnCuda& lines, const AxisTaps& axis)
{
  constexpr double sectorsAWarp = 4, warpBytes = 128;
  const LaunchShape shape = tapLinesShape(lines, axis);
  const double taps = static_cast<double>(axis.weights.size()),
               places = std::max(1.0, shape.threads / static_cast<double>(lines.stride));
  KernelCost cost{.issueSlots = 149 + 5.3 * taps,
                  .fp32 = 63 + taps,
                  .special = 6,
                  .integer = 37 + 2.6 * taps,
                  .globalInstructions = taps + 1};
  cost.l1Wavefronts = 1.2 * (taps + 1); // a warp may pass the end of a row
  cost.l2Sectors = sectorsAWarp * (std::min(taps, (places + taps - 1) / places) + 1);
  cost.dramReadBytes = warpBytes * static_cast<double>(lines.length) / static_cast<double>(axis.count);
  cost.dramWrittenBytes = warpBytes;
  cost.chain = {{LatencyClass::cycle, 470 + 11.5 * taps},
                {LatencyClass::special, 4},
                {LatencyClass::constant, 2},
                {LatencyClass::dram, std::ceil(taps / 8)}};
  return {"taps", {cost}, shape};
}

}
