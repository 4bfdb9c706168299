// needs: Tools, Model
#include "Tools/Bench/Model/KernelCost.h"
#include "Tools/Bench/Model/KernelModels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace tessera {
namespace {

/// A launch of one of the ten kernels of `tessera-bench model` with its counts, and its time on the GPU of
/// usualGpuRates(), the mean of two tables.
struct Timed {
  std::string kernel, size;
  KernelLaunch launch;
  double milliseconds = 0;

  double predicted() const { return 1e3 * predict(usualGpuRates(), launch).seconds; }
  double error() const { return predicted() / milliseconds - 1; }
};

/// A phase as `tessera-bench model --counts` writes it: "issue:40 fp32:12 | cycle:30/1 l2:4/4".
KernelCost phaseOf(const std::string& text)
{
  KernelCost cost;
  const std::size_t bar = text.find('|');
  EXPECT_NE(bar, std::string::npos) << text;
  std::istringstream counts(text.substr(0, bar)), chain(text.substr(bar + 1));
  for (std::string word; counts >> word;) {
    const std::size_t colon = word.find(':');
    const auto* const known = std::ranges::find(kernelCostNames, word.substr(0, colon),
                                                [](const auto& row) { return std::string(row.first); });
    if (known == std::end(kernelCostNames)) {
      ADD_FAILURE() << text;
      break;
    }
    cost.*known->second = std::stod(word.substr(colon + 1));
  }
  for (std::string word; chain >> word;) {
    const std::size_t colon = word.find(':'), slash = word.find('/');
    const auto* const known = std::ranges::find(latencyNames, word.substr(0, colon));
    if (known == std::end(latencyNames)) {
      ADD_FAILURE() << text;
      break;
    }
    cost.chain.push_back({static_cast<LatencyClass>(known - latencyNames), std::stod(word.substr(colon + 1)),
                          std::stod(word.substr(slash + 1))});
  }
  return cost;
}

std::vector<Timed> timedLaunches()
{
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/Testing/Data/kernel-times-h100.csv");
  std::vector<Timed> all;
  std::string line;
  std::getline(file, line); // names
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::istringstream rest(line);
    for (std::string cell; std::getline(rest, cell, ',');)
      cells.push_back(cell);
    EXPECT_EQ(cells.size(), 8u) << line;
    Timed one{cells[0], cells[1], {cells[0], {}, {}}, std::stod(cells[6])};
    one.launch.shape.threads = std::stoi(cells[2]);
    one.launch.shape.blocks = std::stod(cells[3]);
    one.launch.shape.registers = std::stoi(cells[4]);
    one.launch.shape.blocksAMultiprocessor = std::stoi(cells[5]);
    std::istringstream phases(cells[7]);
    for (std::string phase; std::getline(phases, phase, ';');)
      one.launch.phases.push_back(phaseOf(phase));
    all.push_back(one);
  }
  return all;
}

TEST(StoredKernelTimes, OfTenKernelsArePredicted)
{
  const std::vector<Timed> all = timedLaunches();
  ASSERT_EQ(all.size(), 176u);
  double mean = 0, largest = 0;
  std::map<std::string, double> ofKernel, count;
  for (const Timed& one : all) {
    mean += std::abs(one.error()) / static_cast<double>(all.size());
    largest = std::max(largest, std::abs(one.error()));
    ofKernel[one.kernel] += std::abs(one.error());
    ++count[one.kernel];
  }
  EXPECT_EQ(ofKernel.size(), 10u);
  EXPECT_LT(mean, 0.15);
  EXPECT_LT(largest, 0.45);
  for (const auto& [kernel, sum] : ofKernel)
    EXPECT_LT(sum / count[kernel], 0.25) << kernel;
}

TEST(StoredKernelTimes, BlockSizesAreChosenByThePredictions)
{
  std::map<std::string, std::vector<Timed>> cases;
  for (const Timed& one : timedLaunches())
    cases[one.kernel + " " + one.size].push_back(one);
  ASSERT_EQ(cases.size(), 30u);
  int near = 0, inOrder = 0, pairs = 0;
  for (const auto& [name, sizes] : cases) {
    std::vector<KernelLaunch> launches;
    double best = sizes.front().milliseconds;
    for (const Timed& one : sizes) {
      launches.push_back(one.launch);
      best = std::min(best, one.milliseconds);
      for (const Timed& other : sizes)
        if (one.milliseconds > 1.05 * other.milliseconds) {
          ++pairs;
          inOrder += one.predicted() > other.predicted();
        }
    }
    const double chosen = sizes[fastest(usualGpuRates(), launches)].milliseconds;
    near += chosen <= 1.03 * best;
    EXPECT_LT(chosen, 1.15 * best) << name;
  }
  EXPECT_GE(near, 25); // of 30
  EXPECT_GE(inOrder, 0.95 * pairs);
}

/// Trilinear interpolation at given positions, which the older models need 12 global instructions of.
std::vector<Timed> trilinearLaunches()
{
  std::vector<Timed> all = timedLaunches();
  std::erase_if(all, [](const Timed& one) { return one.kernel != "trilinear"; });
  for (Timed& one : all)
    one.launch.phases.front().globalInstructions = 12;
  return all;
}

TEST(StoredKernelTimes, OfTrilinearInterpolationAreCloserThanThoseOfTheOlderModels)
{
  const auto meanError = [all = trilinearLaunches()](const auto& model) {
    double mean = 0;
    for (const Timed& one : all)
      mean += std::abs(1e3 * model(usualGpuRates(), one.launch).seconds / one.milliseconds - 1)
              / static_cast<double>(all.size());
    return mean;
  };
  const double own = meanError(predict);
  EXPECT_LT(own, 0.15);
  EXPECT_LT(own, meanError(predictByWu));
  EXPECT_LT(own, meanError(predictByHongAndKim));
}

// Blocks of one or two warps are bound by the rate at which the device starts blocks.
TEST(StoredKernelTimes, OfTrilinearInterpolationAreBoundByTheStartOfBlocksOrByMemory)
{
  for (const auto& [kernel, size, launch, ms] : trilinearLaunches()) {
    EXPECT_EQ(predict(usualGpuRates(), launch).boundBy,
              launch.shape.threads <= 64 ? "starting blocks" : "DRAM")
        << size << " " << launch.shape.threads;
    EXPECT_EQ(activeBlocks(usualGpuRates(), launch.shape),
              launch.shape.blocksAMultiprocessor) // of the driver
        << launch.shape.threads;
  }
}

}
}
