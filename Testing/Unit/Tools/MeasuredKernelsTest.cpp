// needs: Tools, Model
#include "Tools/Bench/Model/KernelModels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace tessera {
namespace {

/// Times of trilinear interpolation at given positions, as `tessera-bench model` measured them on the GPU of
/// usualGpuRates(), with the driver's numbers of active blocks.
struct Measured {
  LaunchShape shape;
  double milliseconds = 0;
};

std::vector<Measured> measuredTimes()
{
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/Testing/Data/trilinear-times-h100.csv");
  std::vector<Measured> all;
  std::string line;
  std::getline(file, line); // names
  while (std::getline(file, line)) {
    std::replace(line.begin(), line.end(), ',', ' ');
    std::istringstream numbers(line);
    double voxels = 0;
    Measured one;
    numbers >> voxels >> one.shape.threads >> one.shape.blocks >> one.shape.registers
        >> one.shape.blocksAMultiprocessor >> one.milliseconds;
    EXPECT_TRUE(numbers) << line;
    all.push_back(one);
  }
  return all;
}

/// The work of a warp by the counters of the GPU: instructions and units exactly, 20 wavefronts, and 36
/// sectors.
KernelCost trilinearCost()
{
  KernelCost cost;
  cost.issueSlots = 128;
  cost.fp32 = cost.integer = 46;
  cost.special = 9;
  cost.globalInstructions = 12;
  cost.l1Wavefronts = 20;
  cost.l2Sectors = 36;
  cost.dramReadBytes = 512;
  cost.dramWrittenBytes = 128;
  cost.chain = {{LatencyClass::cycle, 212},
                {LatencyClass::special, 5},
                {LatencyClass::constant, 2},
                {LatencyClass::dram, 2}};
  return cost;
}

struct Errors {
  double mean = 0, largest = 0;
};

template <class Model>
Errors errorsOf(Model&& model)
{
  const std::vector<Measured> all = measuredTimes();
  Errors errors;
  for (const Measured& one : all) {
    const double predicted =
                     1e3 * model(usualGpuRates(), KernelLaunch{"", {trilinearCost()}, one.shape}).seconds,
                 error = std::abs(predicted / one.milliseconds - 1);
    errors.mean += error / static_cast<double>(all.size());
    errors.largest = std::max(errors.largest, error);
  }
  return errors;
}

TEST(MeasuredKernels, PredictionsAreCloseAndCloserThanThoseOfTheOlderModels)
{
  ASSERT_EQ(measuredTimes().size(), 18u);
  const Errors own = errorsOf(predict);
  EXPECT_LT(own.mean, 0.15);
  EXPECT_LT(own.largest, 0.4);
  EXPECT_LT(own.mean, errorsOf(predictByWu).mean);
  EXPECT_LT(own.mean, errorsOf(predictByHongAndKim).mean);
}

TEST(MeasuredKernels, TheFormulaFindsTheActiveBlocksOfTheDriver)
{
  for (const Measured& one : measuredTimes())
    EXPECT_EQ(activeBlocks(usualGpuRates(), one.shape), one.shape.blocksAMultiprocessor) << one.shape.threads;
}

// Blocks of one or two warps are bound by the rate at which the device starts blocks.
TEST(MeasuredKernels, SmallBlocksAreBoundByTheirStart)
{
  for (const Measured& one : measuredTimes())
    EXPECT_EQ(predict(usualGpuRates(), {"", {trilinearCost()}, one.shape}).boundBy,
              one.shape.threads <= 64 ? "starting blocks" : "DRAM")
        << one.shape.threads;
}

}
}
