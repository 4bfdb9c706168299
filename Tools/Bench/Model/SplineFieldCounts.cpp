#include "Tools/Bench/Model/KernelCounts.h"

#include "Components/Transforms/Shared/OnCuda/SplineFieldOnCuda.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

/// The numbers of a warp's share of 32 tasks: instructions and their units, and the cycles that they take one
/// after the other.
KernelCost costOf(double issue, double fp32, double fp64, double special, double integer, double cycles)
{
  return {.issueSlots = issue,
          .fp32 = fp32,
          .fp64 = fp64,
          .special = special,
          .integer = integer,
          .chain = {{LatencyClass::cycle, cycles}}};
}

/// Loads or stores of shared memory, one wavefront each, and so many waits for them.
void addShared(KernelCost& cost, double count, double waits)
{
  cost.sharedInstructions += count;
  cost.sharedWavefronts += count;
  cost.chain.push_back({LatencyClass::shared, waits});
}

}

KernelLaunch splineFieldCounts(const SplineFieldPlan& plan, int landmarks, double meanNear, double maxNear)
{
  constexpr int side = SplineFieldPlan::blockVoxels, half = side / 2;
  const double n = plan.nodes, all = n * n * n,
               shares = splinefield::BlockMemory<float>::shares(plan.nodes, splinefield::mostThreads),
               tiles = std::ceil(landmarks / 128.0), words = std::ceil(landmarks / 32.0);
  const LaunchShape shape = splineFieldShape(plan, landmarks);
  std::vector<KernelCost> steps;
  KernelCost head = costOf(15, 4, 0, 0, 5, 55);
  head.barriers = 1;
  head.chain.push_back({LatencyClass::barrier, 1});
  const auto addStep = [&](double times, double tasks, const KernelCost& task) {
    steps.push_back(KernelCost().add(times, sharedTasks(tasks, shape.threads, head, task)));
  };

  // A lane reads 32 landmarks of 24 bytes, and no two lanes the same line.
  KernelCost mark = costOf(589, 39, 288, 0, 130, 2255);
  mark.globalInstructions = 96;
  mark.l1Wavefronts = 32 * 96;
  mark.l2Sectors = 32 * 24; // they stay in the L1 cache for what follows
  mark.chain.push_back({LatencyClass::l2, 8});
  mark.chain.push_back({LatencyClass::l1, 24});
  addStep(1, words, mark);
  steps.back().add(1, costOf(220, 40, 25, 16, 90, 650)); // the block's own numbers

  KernelCost load = costOf(73, 8, 16, 8, 16, 309);
  load.globalInstructions = 6;
  load.l1Wavefronts = 6 * 6;
  load.l2Sectors = 8;
  addShared(load, 3, 1);
  load.sharedWavefronts += 13; // lanes store 16 of 32 bytes at a time, and meet in banks
  load.chain.push_back({LatencyClass::l2, 6, 6});
  load.chain.push_back({LatencyClass::special, 3});
  addStep(tiles, 128, load);

  KernelCost middles = costOf(82, 2, 8, 14, 26, 323);
  addShared(middles, 15, 4);
  middles.sharedWavefronts += 7 * 8; // eight lanes meet in a bank
  middles.chain.push_back({LatencyClass::special, 2});
  addStep(tiles, 96, middles);

  // Four landmarks of a tile at a time, each 32 bytes that lanes share.
  const double fours = 32 / shares;
  KernelCost far =
      costOf(161 + 80 * fours, 32 + 50 * fours, 18, 16 + 4 * fours, 65 + 14 * fours, 560 + 133 * fours);
  addShared(far, 6 + 8 * fours, 2 + fours);
  far.sharedWavefronts += 6 + 8 * fours; // 8 and 16 bytes take two
  far.chain.push_back({LatencyClass::special, 5 + fours});
  addStep(tiles, all * shares, far);

  KernelCost node = costOf(380, 65, 60, 8, 85, 1330);
  node.globalInstructions = 28;
  node.l1Wavefronts = 56;
  node.l2Sectors = 4;
  addShared(node, 67, 6);
  node.sharedWavefronts += 34;
  node.chain.push_back({LatencyClass::l1, 4});
  addStep(1, 3 * all, node);

  KernelCost alongX = costOf(60 + 5.5 * n, 12 + 1.6 * n, 0, 0, 25 + 1.3 * n, 220 + 15 * n);
  addShared(alongX, 1 + 2 * n, 1 + n / 4);
  alongX.sharedWavefronts += n; // weights of 16 voxels, of which two lie in a bank
  addStep(1, 3 * n * n * side, alongX);
  KernelCost alongY = costOf(66 + 5.5 * n, 12 + 1.6 * n, 0, 0, 32 + 1.5 * n, 225 + 15 * n);
  addShared(alongY, 1 + 2 * n, 1 + n / 4);
  addStep(1, 3 * n * side * side, alongY);

  // Eight voxels of a lane: three sums over nodes for each, then the near landmarks. Bits are tested up to
  // the last near one of 32: P(a bit at or behind place m) = 1 - (1 - near / all)^(33 - m).
  constexpr double sums = 3 * half, bytesAVoxel = 12, lanes = 32;
  KernelCost write = costOf(385 + sums * (28 + 5.5 * n), 85 + sums * (4 + 1.6 * n), 30, 9,
                            155 + sums * (8 + 1.4 * n), 1050 + sums * (90 + 15 * n));
  addShared(write, sums * 2 * n, sums * (1 + n / 4));
  write.add(words, costOf(13, 1, 0, 0, 6, 70));
  const auto testedBits = [&](double near) {
    double bits = 0;
    for (int rest = 1; rest <= 32; ++rest)
      bits += 1 - std::pow(1 - near / std::max(1, landmarks), rest);
    return words * bits;
  };
  const KernelCost bit = costOf(3.2, 1, 0, 0, 2.2, 40);
  KernelCost near = costOf(191, 95, 3, 14, 31, 438);
  near.globalInstructions = 6;
  near.l1Wavefronts = 12;
  near.chain.push_back({LatencyClass::l1, 2});
  near.chain.push_back({LatencyClass::special, 3});
  // Blocks that are active together end with the one that has the most near landmarks.
  KernelCost slowest;
  slowest.add(testedBits(maxNear), bit).add(maxNear, near);
  const std::vector<ChainLink> beforeNear = write.chain;
  write.add(testedBits(meanNear), bit).add(meanNear, near);
  write.chain = beforeNear;
  write.chain.insert(write.chain.end(), slowest.chain.begin(), slowest.chain.end());
  write.globalInstructions += sums;
  write.l1Wavefronts += 4 * sums;
  write.l2Sectors += bytesAVoxel * half; // sectors of 32 bytes, which the L1 cache fills up
  write.dramWrittenBytes = bytesAVoxel * half * lanes;
  addStep(1, 2 * side * side, write);

  return {"splinefield", steps, shape};
}

}
