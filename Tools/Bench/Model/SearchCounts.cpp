#include "Tools/Bench/Model/KernelCounts.h"

#include "Core/Image/Landmarks/StructureTensorsOnCuda.h"

#include <algorithm>

namespace tessera {

using namespace structuretensors;

namespace {

/// A warp finds its first task once in each step, and waits.
KernelCost headOfStep()
{
  return {.issueSlots = 18,
          .fp32 = 4,
          .special = 2,
          .integer = 6,
          .barriers = 1,
          .chain = {{LatencyClass::cycle, 60}, {LatencyClass::barrier, 1}}};
}

/// A voxel of a lane: 10 loads of 16 bytes, 32 apart, wait together; 28 products are added for each of 5
/// voxels.
KernelCost costOfSumAlongZ()
{
  constexpr double loads = 2 * partVoxels(2);
  KernelCost cost{.issueSlots = 456,
                  .fp32 = 313,
                  .integer = 99,
                  .globalInstructions = loads,
                  .l1Wavefronts = 8 * loads,
                  .l2Sectors = 32 * partVoxels(2)};
  cost.sharedInstructions = cost.sharedWavefronts = entryCount;
  cost.chain = {{LatencyClass::cycle, 683}, {LatencyClass::l2, loads, loads}};
  return cost;
}

/// A line of so many sums of a lane. Those along y have numbers that lie apart, whose addresses are computed.
KernelCost costOfSumLine(double count, bool isAlongY)
{
  KernelCost cost{.issueSlots = isAlongY ? 90 + 9.3 * count : 62 + 5.6 * count,
                  .fp32 = (isAlongY ? 17 : 9) + 3 * count,
                  .special = isAlongY ? 3.0 : 0.0,
                  .integer = isAlongY ? 51 + 4.1 * count : 23 + count,
                  .sharedInstructions = 7 + 2 * count};
  cost.sharedWavefronts =
      (isAlongY ? 1.8 : 1) * cost.sharedInstructions; // columns of two entries meet in banks
  cost.chain = {{LatencyClass::cycle, isAlongY ? 330 + 18 * count : 200 + 11 * count},
                {LatencyClass::shared, 2 + count / 8}};
  return cost;
}

/// A place of a lane. Rows of places are shorter than those of the window, so that two lanes meet in a bank.
KernelCost costOfFactor()
{
  KernelCost cost{
      .issueSlots = 414, .fp32 = 202, .special = 14, .integer = 97, .sharedInstructions = 2 * entryCount};
  cost.sharedWavefronts = 2 * cost.sharedInstructions;
  cost.chain = {{LatencyClass::cycle, 1330}, {LatencyClass::special, 14}, {LatencyClass::shared, 8}};
  return cost;
}

/// A candidate of a lane: four parts with 28 numbers each, and as many of the landmark, which all lanes
/// share.
KernelCost costOfDistance()
{
  constexpr double numbers = 4 * entryCount;
  KernelCost cost{
      .issueSlots = 707, .fp32 = 358, .special = 6, .integer = 110, .sharedInstructions = 2 * numbers + 2};
  cost.sharedWavefronts = 3 * numbers + 2; // two lanes meet in a bank where a row of candidates ends
  cost.chain = {{LatencyClass::cycle, 1220}, {LatencyClass::shared, numbers / 4}};
  return cost;
}

/// A candidate that is compared with the best one.
KernelCost costOfComparing()
{
  KernelCost cost{.issueSlots = 70, .fp32 = 8, .special = 4, .integer = 45};
  cost.sharedInstructions = cost.sharedWavefronts = 1;
  cost.chain = {{LatencyClass::cycle, 250}, {LatencyClass::shared, 1}, {LatencyClass::special, 4}};
  return cost;
}

}

KernelLaunch searchCounts(std::size_t landmarks, const structuretensors::Window& window, double voxels)
{
  const LaunchShape shape = searchShape(landmarks, window);
  const auto addStep = [&](std::vector<KernelCost>& steps, double times, double tasks,
                           const KernelCost& task) {
    steps.push_back(KernelCost().add(times, sharedTasks(tasks, shape.threads, headOfStep(), task)));
  };
  std::vector<KernelCost> steps;
  const auto addFactors = [&](double times, const Window& of) {
    addStep(steps, times, of.voxels(0) * of.voxels(1), costOfSumAlongZ());
    addStep(steps, times, entryCount * of.voxels(1), costOfSumLine(of.places(0), false));
    addStep(steps, times, entryCount * of.places(0), costOfSumLine(of.places(1), true));
    addStep(steps, times, of.places(0) * of.places(1), costOfFactor());
  };
  addFactors(2, Window{{0, 0, 0}});
  addFactors(window.places(2), window);
  // In the first and the last slices only one half of a patch begins.
  const double ofSlice = window.candidates(0) * window.candidates(1);
  addStep(steps, window.candidates(2) - partStep(2), 2 * ofSlice, costOfDistance());
  addStep(steps, 2 * partStep(2), ofSlice, costOfDistance());
  addStep(steps, 1, window.candidateCount(), costOfComparing());
  constexpr double bytesAVoxel = 8 * sizeof(float);
  const double ofWindow = bytesAVoxel * window.voxels(0) * window.voxels(1) * window.voxels(2),
               ofImage = bytesAVoxel * voxels / static_cast<double>(landmarks);
  // The L2 cache holds what the windows of neighbouring landmarks share.
  steps.front().dramReadBytes = std::min(ofWindow, ofImage) / shape.warpsABlock();
  return {"sest", steps, shape};
}

}
