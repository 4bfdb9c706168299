#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tessera {

/// How blocks count samples into 32-bit bins in their shared memory. A sample adds at most 2^bits to a bin,
/// so a bin must be emptied into global memory after some rounds.
struct CountingPlan {
  static constexpr int samplesAThread = 4;                    // samples that a thread handles in one round
  static constexpr int log2FewCopies = 3, log2ManyCopies = 5; // log2Copies of a plan without gathering
  /// 2^22 is the largest power of two that the 23 stored bits of a float's mantissa hold.
  static constexpr int maxBits = 22;
  static constexpr int fewestBits = 16;

  int rows = 0; // rows of the histogram that one block has in its shared memory
  /// The histogram is cut into so many ranges of rows, and every range reads all samples. 0: there is no
  /// plan, and samples are counted in global memory.
  int ranges = 0;
  /// Each bin has 2^log2Copies copies side by side, so that lanes rarely meet: lane l adds to copy l modulo
  /// their number.
  int log2Copies = 0;
  /// Whether the lanes of a warp that all hit the same bins add their sum once. Always true with several
  /// ranges.
  bool gather = false;
  int threads = 0;
  unsigned blocks = 0;
  int bits = 0;
  unsigned rounds = 0, roundsBetweenFlushes = 0;

  /// The samples that may add to one copy of a bin in a round. With gathering a warp may add all its samples
  /// to one.
  std::size_t ofBinARound() const
  {
    const std::size_t aRound = static_cast<std::size_t>(threads) * samplesAThread;
    return gather ? aRound : aRound >> log2Copies;
  }

  std::size_t sharedBytes(int columns) const
  {
    return (sizeof(std::uint32_t) * rows * columns) << log2Copies;
  }
};

/// `sharedBytes` is the shared memory that a block may have. There is no plan for fewer samples than clearing
/// and emptying the bins would pay for (a few thousand), nor if more than four ranges were needed.
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

  // Samples that a block handles in one round.
  const std::size_t aRound = static_cast<std::size_t>(plan.threads) * CountingPlan::samplesAThread;
  const std::size_t blocksForAll = (samples + aRound - 1) / aRound;
  const auto slices = static_cast<unsigned>(
      std::min<std::size_t>(blocksForAll, std::max(1, multiprocessors * (large ? 1 : 2) / plan.ranges)));
  plan.blocks = slices * plan.ranges;
  plan.rounds = static_cast<unsigned>((samples + slices * aRound - 1) / (slices * aRound));

  const std::size_t maxSamples = 0xffffffff;
  plan.bits = CountingPlan::maxBits;
  while (plan.bits > CountingPlan::fewestBits && (plan.ofBinARound() * plan.rounds << plan.bits) > maxSamples)
    --plan.bits;
  plan.roundsBetweenFlushes = static_cast<unsigned>(
      std::min<std::size_t>(plan.rounds, (maxSamples >> plan.bits) / plan.ofBinARound()));
  return plan;
}

/// The plan with as many blocks of fewer threads, a multiple of 32. It counts the same whole numbers.
inline CountingPlan withThreads(CountingPlan plan, std::size_t samples, int threads)
{
  const auto most = static_cast<std::size_t>(0xffffffff) >> plan.bits;
  plan.threads = std::clamp(threads, 32, plan.threads);
  const std::size_t aRound = static_cast<std::size_t>(plan.threads) * CountingPlan::samplesAThread,
                    ofAll = aRound * (plan.blocks / plan.ranges);
  plan.rounds = static_cast<unsigned>((samples + ofAll - 1) / ofAll);
  plan.roundsBetweenFlushes =
      static_cast<unsigned>(std::min<std::size_t>(plan.rounds, most / plan.ofBinARound()));
  return plan;
}

}
