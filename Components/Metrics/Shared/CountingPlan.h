#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tessera {

/// How samples are counted into bins of 32 bits in the shared memory of blocks; each sample adds at most
/// 2^bits to a bin.
struct CountingPlan {
  static constexpr int samplesAThread = 4;                    // of one round
  static constexpr int log2FewCopies = 3, log2ManyCopies = 5; // without gathering
  static constexpr int maxBits = 22; // what a float's mantissa holds beside its leading one
  static constexpr int fewestBits = 16;

  int rows = 0;        // of the histogram in one block
  int ranges = 0;      // of rows; every range reads all samples. 0: no plan, count in global memory
  int log2Copies = 0;  // of each bin, side by side; lane l adds to copy l % copies
  bool gather = false; // warps whose lanes agree on their bins add once; always with several ranges
  int threads = 0;
  unsigned blocks = 0;
  int bits = 0;
  unsigned rounds = 0, roundsBetweenFlushes = 0;

  std::size_t sharedBytes(int columns) const
  {
    return (sizeof(std::uint32_t) * rows * columns) << log2Copies;
  }
};

/// `sharedBytes`: of one block. Zeroing and emptying bins takes as long as a few thousand samples: below
/// that, and where more than four ranges would be needed, there is no plan.
inline CountingPlan planCounting(std::size_t samples, int rows, int columns, int multiprocessors,
                                 std::size_t sharedBytes)
{
  constexpr std::size_t fewestSamples = 16384, samplesForWholeMultiprocessors = 262144,
                        usualShared = 32 << 10;
  constexpr int maxRanges = 4;
  CountingPlan plan;
  const std::size_t rowBytes = sizeof(std::uint32_t) * columns;
  const auto rowsThatFit = static_cast<int>(std::min<std::size_t>(sharedBytes / rowBytes, rows));
  if (samples < fewestSamples || rowsThatFit == 0 || (rows + rowsThatFit - 1) / rowsThatFit > maxRanges)
    return plan;
  plan.ranges = (rows + rowsThatFit - 1) / rowsThatFit;
  plan.rows = (rows + plan.ranges - 1) / plan.ranges;

  const bool large = samples >= samplesForWholeMultiprocessors;
  plan.threads = large ? 1024 : 256;
  const std::size_t room = large ? sharedBytes : std::min(sharedBytes, usualShared);
  const auto fits = [&](int log2Copies) { return rowBytes * plan.rows << log2Copies <= room; };
  plan.gather = plan.ranges > 1 || !fits(CountingPlan::log2FewCopies);
  while (plan.gather && fits(plan.log2Copies + 1))
    ++plan.log2Copies;
  if (!plan.gather)
    plan.log2Copies =
        fits(CountingPlan::log2ManyCopies) ? CountingPlan::log2ManyCopies : CountingPlan::log2FewCopies;

  const std::size_t aRound =
      static_cast<std::size_t>(plan.threads) * CountingPlan::samplesAThread; // of one block
  const std::size_t blocksForAll = (samples + aRound - 1) / aRound;
  const auto slices = static_cast<unsigned>(
      std::min<std::size_t>(blocksForAll, std::max(1, multiprocessors * (large ? 1 : 2) / plan.ranges)));
  plan.blocks = slices * plan.ranges;
  plan.rounds = static_cast<unsigned>((samples + slices * aRound - 1) / (slices * aRound));

  // A gathered warp adds all its samples to one copy.
  const std::size_t binARound = plan.gather ? aRound : aRound >> plan.log2Copies;
  const std::size_t maxSamples = 0xffffffff;
  plan.bits = CountingPlan::maxBits;
  while (plan.bits > CountingPlan::fewestBits && (binARound * plan.rounds << plan.bits) > maxSamples)
    --plan.bits;
  plan.roundsBetweenFlushes =
      static_cast<unsigned>(std::min<std::size_t>(plan.rounds, (maxSamples >> plan.bits) / binARound));
  return plan;
}

}
