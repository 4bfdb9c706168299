// needs: GPU
#include "Components/Optimizers/FullSearch.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/StageRuns.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

using namespace testing;

/// Remembers all rows, and asks for a stop after some.
class Rows final : public Reporter<3> {
public:
  std::size_t most = std::numeric_limits<std::size_t>::max();
  std::atomic<bool> stop{false};
  std::vector<double> values;
  std::vector<std::vector<double>> parameters; // reached at each

  void iterationDone(std::size_t, const IterationRecord& row, const ReachedChain& chain) override
  {
    values.push_back(row.value);
    parameters.push_back(chain().parameters);
    stop = values.size() == most;
  }
};

const Size<3> size{40, 36, 30};
const char* const translation = "(Transform \"TranslationTransform\") ";
const char* const bspline = "(Transform \"BSplineTransform\") (FinalGridSpacingInPhysicalUnits 12) ";
const char* const full = "(ImageSampler \"Full\") ";
const char* const points =
    "(ImageSampler \"RandomCoordinate\") (NumberOfSpatialSamples 1500) (NewSamplesEveryIteration \"false\") ";

DrawnStage<3> searchOf(const std::string& space, const std::string& lines)
{
  return stageInput<3>(size, "(Optimizer \"FullSearch\") (FullSearchSpace0 " + space + ") " + lines);
}

std::string axis(const std::string& name, int parameter, double first, double last, double step)
{
  return "\"" + name + "\" " + std::to_string(parameter) + " " + std::to_string(first) + " "
         + std::to_string(last) + " " + std::to_string(step) + " ";
}

StageResult<3> runOn(const Context& device, DrawnStage<3> input, Rows& rows)
{
  Context context = device;
  context.stop = rows.stop;
  return input.run(context, rows);
}

const Context cpu{{}, 2};
Context cuda()
{
  return makeContext({DeviceKind::cuda, 0}, 2);
}

/// 7 x 6 points, two groups and a part of a third one, each with the bits of a search of that point alone.
void expectTheBitsOfSinglePoints(const std::string& lines)
{
  Rows rows;
  const StageResult<3> result =
      runOn(cuda(), searchOf(axis("x", 0, -3, 3, 1) + axis("y", 1, -2, 3, 1), lines), rows);

  ASSERT_EQ(rows.values.size(), 42u) << lines;
  for (std::size_t i = 0; i < rows.values.size(); ++i) {
    const double x = -3 + static_cast<double>(i % 7), y = -2 + static_cast<double>(i / 7);
    EXPECT_EQ(rows.parameters[i][0], x) << lines << i;
    EXPECT_EQ(rows.parameters[i][1], y) << lines << i;
    if (i % 5 != 0)
      continue;
    Rows single;
    messageOf([&] { // it may end with an error, since the point may be worse than the start
      runOn(cuda(), searchOf(axis("x", 0, x, x, 1) + axis("y", 1, y, y, 1), lines), single);
    });
    EXPECT_EQ(single.values, std::vector<double>{rows.values[i]}) << lines << i;
  }
  const auto best = std::ranges::min_element(rows.values) - rows.values.begin();
  EXPECT_EQ(result.chain->parameters, rows.parameters[static_cast<std::size_t>(best)]) << lines;
  Rows again;
  runOn(cuda(), searchOf(axis("x", 0, -3, 3, 1) + axis("y", 1, -2, 3, 1), lines), again);
  EXPECT_EQ(again.values, rows.values) << lines << "not the same bits again";
  Rows onCpu;
  runOn(cpu, searchOf(axis("x", 0, -3, 3, 1) + axis("y", 1, -2, 3, 1), lines), onCpu);
  ASSERT_EQ(onCpu.values.size(), rows.values.size());
  for (std::size_t i = 0; i < rows.values.size(); ++i)
    EXPECT_NEAR(rows.values[i], onCpu.values[i], 1e-4 * std::abs(onCpu.values[i])) << lines << i;
}

using FullSearchOnCudaTest = testing::GpuTest;

TEST_F(FullSearchOnCudaTest, EachPointHasTheBitsOfASearchOfItAlone)
{
  for (const std::string metric :
       {"(Metric \"AdvancedMeanSquares\") ", "(Metric \"AdvancedMattesMutualInformation\") ",
        "(Metric \"AdvancedNormalizedCorrelation\") "})
    for (const char* sampler : {full, points})
      expectTheBitsOfSinglePoints(metric + sampler + translation);
  expectTheBitsOfSinglePoints(std::string(full) + bspline);
  expectTheBitsOfSinglePoints(std::string(points) + bspline);
}

TEST_F(FullSearchOnCudaTest, APointWithoutSamplesInAGroupHasTheCpusMessage)
{
  const DrawnStage<3> input = searchOf(axis("x", 0, -7, 93, 5), std::string(translation) + full);
  Rows onCpu, onCuda;
  const std::string expected = errorText([&] { runOn(cpu, input, onCpu); }, ExitCode::registrationFailed);

  EXPECT_EQ(errorText([&] { runOn(cuda, input, onCuda); }, ExitCode::registrationFailed), expected);

  EXPECT_PRED2(contains, expected, "The search is at x = ");
  EXPECT_EQ(onCuda.parameters, onCpu.parameters) << "all points before were told";
  EXPECT_GT(onCuda.values.size(), 3u);
  EXPECT_LT(onCuda.values.size(), 16u);
}

TEST_F(FullSearchOnCudaTest, AStopInAGroupEndsTheSearchThere)
{
  Rows rows;
  rows.most = 21;

  const StageResult<3> result =
      runOn(cuda, searchOf(axis("x", 0, -3, 3, 0.1), std::string(translation) + points), rows);

  EXPECT_TRUE(result.wasStopped);
  EXPECT_EQ(rows.values.size(), 21u);
}

}
}
