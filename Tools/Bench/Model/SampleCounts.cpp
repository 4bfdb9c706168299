#include "Tools/Bench/Model/KernelCounts.h"

#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"
#include "Components/Transforms/Shared/OnCuda/ChainLaunches.h"

#include <algorithm>
#include <cmath>

namespace tessera {

/// A thread takes 222 instructions for four pairs: 66 find the bins, 15 load the next four, and 119 compute
/// 16 weights and add them. Clearing takes 5 for 32 words, and emptying 58 for 32 bins. With 8 copies of each
/// bin the lanes of an addition lie in 8 groups of 4, which meet in one of 4 banks. All blocks empty the same
/// bins at the same time.
KernelLaunch histogramCounts(const HistogramOnCuda& histogram, std::size_t pairs)
{
  constexpr double warpBytes = 128, meetings = 2.8;
  const auto [shape, plan, columns] = histogram.countingLaunch(pairs);
  const double perWarp = 1.0 * plan.rows * columns / plan.threads, copies = 1 << plan.log2Copies,
               flushes = std::ceil(1.0 * plan.rounds / std::max(1u, plan.roundsBetweenFlushes));
  KernelCost round{.issueSlots = 222,
                   .fp32 = 72 + 30,
                   .fp64 = 8,
                   .special = 8,
                   .integer = 56,
                   .globalInstructions = 2,
                   .sharedInstructions = 16,
                   .l1Wavefronts = 8,
                   .sharedAtomics = 16 * meetings,
                   .l2Sectors = 32,
                   .dramReadBytes = 8 * warpBytes};
  // The next pairs are on their way while these are counted, and take longer.
  round.chain = {{LatencyClass::cycle, 117}, {LatencyClass::constant, 2}, {LatencyClass::dram, 2, 2}};
  KernelCost clear{.issueSlots = 127 + 5 * copies * perWarp,
                   .fp32 = 44 + 2 * copies * perWarp,
                   .special = 6,
                   .integer = 37 + copies * perWarp};
  clear.globalInstructions = clear.l1Wavefronts = 15; // the numbers of the windows
  clear.sharedInstructions = clear.sharedWavefronts = copies * perWarp;
  clear.barriers = 1;
  clear.chain = {{LatencyClass::cycle, 310 + 31 * copies * perWarp},
                 {LatencyClass::special, 4},
                 {LatencyClass::constant, 4},
                 {LatencyClass::barrier, 1}};
  KernelCost flush{.issueSlots = 30 + 58 * perWarp,
                   .fp32 = 5 * perWarp,
                   .integer = 20 + 32 * perWarp,
                   .globalInstructions = perWarp};
  flush.sharedInstructions = flush.sharedWavefronts = 2 * copies * perWarp;
  flush.meetingSectors = flush.l2Sectors = 8 * perWarp;
  flush.barriers = 1;
  flush.chain = {{LatencyClass::cycle, 130 + 167 * perWarp},
                 {LatencyClass::shared, perWarp},
                 {LatencyClass::constant, 1},
                 {LatencyClass::barrier, 1}};
  KernelCost count, empty;
  count.add(plan.rounds, round);
  empty.add(flushes, flush);
  return {"histogram", {clear, count, empty}, shape};
}

/// A sample takes 235 instructions, and 43 for each landmark: 23 in double precision, half of them for the
/// square root, and 6 loads of numbers that all lanes share. The test behind a square root keeps landmarks
/// from running side by side.
KernelLaunch landmarkCounts(std::size_t samples, int landmarks)
{
  constexpr double warpBytes = 128;
  KernelCost cost{
      .issueSlots = 235, .fp32 = 70, .fp64 = 39, .special = 12, .integer = 42, .globalInstructions = 23};
  cost.l1Wavefronts = 42; // a double takes two, even if all lanes share it
  cost.l2Sectors = 24;
  cost.dramReadBytes = cost.dramWrittenBytes = 3 * warpBytes;
  cost.chain = {{LatencyClass::cycle, 610},
                {LatencyClass::special, 6},
                {LatencyClass::constant, 4},
                {LatencyClass::l1, 4},
                {LatencyClass::dram, 3, 3}};
  KernelCost landmark;
  landmark.issueSlots = 43;
  landmark.fp32 = 8.5;
  landmark.fp64 = 23;
  landmark.special = 1;
  landmark.integer = 1.1;
  landmark.globalInstructions = 6;
  landmark.l1Wavefronts = 12;
  landmark.chain = {{LatencyClass::cycle, 155}, {LatencyClass::specialFp64, 1}, {LatencyClass::l1, 6, 24}};
  cost.add(landmarks, landmark);
  return {"landmarks", {cost}, addDisplacementsShape(samples)};
}

namespace {

/// A warp takes one sample: 288 instructions find its place and weights, in double precision, and each of two
/// rounds of 32 control points takes 91 and adds to three components: 8 rows of 4 points, which lie in 14
/// sectors. Points are taken to have no order.
KernelLaunch scatterCounts(const LaunchShape& shape)
{
  constexpr double rowSectors = 1.75, additions = 6;
  KernelCost cost{.issueSlots = 288 + 2 * 91,
                  .fp32 = 68,
                  .fp64 = 103,
                  .special = 20,
                  .integer = 184,
                  .globalInstructions = 8 + additions,
                  .l1Wavefronts = 8 + additions * 8,
                  .atomicSectors = additions * 8 * rowSectors};
  cost.l2Sectors = 8 + cost.atomicSectors;
  cost.dramReadBytes = 36;
  cost.chain = {{LatencyClass::cycle, 1050},
                {LatencyClass::special, 12},
                {LatencyClass::constant, 7},
                {LatencyClass::l1, 1},
                {LatencyClass::dram, 6, 3}};
  return {"adjoint", {cost}, shape};
}

}

std::vector<KernelLaunch> adjointCounts(const Context& context, std::size_t samples, std::size_t parameters)
{
  constexpr double warpBytes = 128;
  KernelCost largest;
  const PullBackShapes shapes = pullBackBSplineShapes(context, samples, parameters);
  const double rounds = static_cast<double>(samples) / (shapes.largest.blocks * shapes.largest.threads);
  largest.issueSlots = 40 + 25 * rounds;
  largest.fp32 = 5 + 8 * rounds;
  largest.integer = 20 + 12 * rounds;
  largest.globalInstructions = largest.l1Wavefronts = 3 * rounds;
  largest.l2Sectors = 12 * rounds;
  largest.dramReadBytes = 3 * warpBytes * rounds;
  largest.chain = {{LatencyClass::dram, 3 * rounds, 3}, {LatencyClass::cycle, 40 * rounds + 200}};
  KernelCost move{.issueSlots = 120, .fp64 = 30};
  move.globalInstructions = move.l1Wavefronts = 3;
  move.l2Sectors = 24;
  move.dramReadBytes = move.dramWrittenBytes = 2 * warpBytes;
  move.chain = {{LatencyClass::l2, 2}, {LatencyClass::cycle, 300}};
  return {{"memset", {KernelCost{}}, {1, 32, 16, 0, 16}},
          {"largest", {largest}, shapes.largest},
          scatterCounts(shapes.scatter),
          {"move", {move}, shapes.move}};
}

}
