// needs: GPU, Model
#include "Core/Compute/Cuda/BlockThreads.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Tools/Bench/Model/ModelCases.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace tessera {
namespace {

using Row = std::map<std::string, std::string>; // by the names of the columns

std::vector<Row> rowsOf(const std::string& name)
{
  std::ifstream file(std::string(TESSERA_SOURCE_DIR) + "/Testing/Data/" + name);
  const auto cellsOf = [](const std::string& line) {
    std::vector<std::string> cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');)
      cells.push_back(cell);
    return cells;
  };
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> names = cellsOf(line);
  std::vector<Row> rows;
  while (std::getline(file, line)) {
    const std::vector<std::string> cells = cellsOf(line);
    Row row;
    for (std::size_t i = 0; i < std::min(names.size(), cells.size()); ++i)
      row[names[i]] = cells[i];
    rows.push_back(row);
  }
  return rows;
}

std::array<int, 3> volumeOf(const std::string& size)
{
  std::array<int, 3> volume{};
  char x = 0;
  std::istringstream(size) >> volume[0] >> x >> volume[1] >> x >> volume[2];
  return volume;
}

const KernelLaunch& mainOne(const std::vector<KernelLaunch>& launches)
{
  return *std::max_element(launches.begin(), launches.end(), [](const auto& a, const auto& b) {
    return a.cost().issueSlots * a.shape.blocks * a.shape.warpsABlock()
           < b.cost().issueSlots * b.shape.blocks * b.shape.warpsABlock();
  });
}

// The cost functions count as the counters of an H200 do; the file is a table of kernel-counts. A
// count of less than a hundredth of the instructions bounds nothing.
using KernelCountsOnCuda = testing::GpuTest;

TEST_F(KernelCountsOnCuda, AgreeWithStoredCounters)
{
  constexpr int multiprocessors = 132; // of the GPU with the counters; a histogram's blocks go by it
  if (findCudaDevices().found.at(0).multiprocessors != multiprocessors)
    GTEST_SKIP() << "this GPU has another number of multiprocessors than the one with the counters";
  constexpr double limit = 0.1;
  std::set<std::pair<std::string, std::string>> notHeld;
  for (const Row& row : rowsOf("kernel-counts-not-held.csv"))
    notHeld.emplace(row.at("kernel"), row.at("column"));
  EXPECT_FALSE(notHeld.empty());
  const std::map<std::string, double (*)(const KernelCost&)> counts{
      {"instructions", [](const KernelCost& cost) { return cost.issueSlots; }},
      {"fp32", [](const KernelCost& cost) { return cost.fp32; }},
      {"fp64", [](const KernelCost& cost) { return cost.fp64; }},
      {"special", [](const KernelCost& cost) { return cost.special; }},
      {"integer", [](const KernelCost& cost) { return cost.integer; }},
      {"global", [](const KernelCost& cost) { return cost.globalInstructions; }},
      {"shared_wavefronts",
       [](const KernelCost& cost) { return cost.sharedWavefronts + cost.sharedAtomics; }},
      {"all_wavefronts",
       [](const KernelCost& cost) { return cost.l1Wavefronts + cost.sharedWavefronts + cost.sharedAtomics; }},
      {"l2_sectors", [](const KernelCost& cost) { return cost.l2Sectors; }}};
  const std::vector<Row> rows = rowsOf("kernel-counters-h200.csv");
  std::set<std::string> kernels;
  for (const Row& row : rows) {
    const std::string kernel = row.at("kernel"), size = row.at("size");
    kernels.insert(kernel);
    const ModelCase problem = modelCase(cuda, kernel, volumeOf(size));
    const BlockThreads chosen(std::stoi(row.at("block")));
    const std::vector<KernelLaunch> launches = problem.launches();
    const KernelLaunch& launch = mainOne(launches);
    const KernelCost cost = launch.cost();
    const double warps = launch.shape.blocks * launch.shape.warpsABlock();
    EXPECT_EQ(launch.shape.threads, std::stoi(row.at("block"))) << kernel << " " << size;
    for (const auto& [name, countOf] : counts) {
      const double counted = warps * countOf(cost), found = std::stod(row.at("ncu_" + name));
      if (notHeld.contains({kernel, name}) || std::max(counted, found) < 0.01 * warps * cost.issueSlots)
        continue;
      EXPECT_NEAR(counted / found, 1, limit)
          << kernel << " " << size << " in blocks of " << launch.shape.threads << ": " << name;
    }
  }
  EXPECT_EQ(kernels.size(), modelKernels().size());
}

}
}
