// needs: GPU
#include "Components/Metrics/AdvancedMattesMutualInformation.h"
#include "Components/Metrics/AdvancedMeanSquares.h"
#include "Components/Metrics/AdvancedNormalizedCorrelation.h"
#include "Components/Metrics/NormalizedMutualInformation.h"
#include "Components/Metrics/SoftDice.h"

#include "Testing/Support/Naive/NaiveParzen.h"
#include "Testing/Support/OnGpu/MetricsOnGpu.h"

namespace tessera {
namespace {

using namespace testing;
using MS = AdvancedMeanSquares;
using NCC = AdvancedNormalizedCorrelation;
using MI = AdvancedMattesMutualInformation;
using NMI = NormalizedMutualInformation;

constexpr LevelFacts facts{0, 100, 0, 100};
constexpr double slopeTolerance = 1e-6; // single precision

template <class Formula>
Formula formulaOf(const std::string& text, const LevelFacts& levelFacts = facts)
{
  return Formula(parametersOf(text, 3, 1, "Metric0"), 0, levelFacts);
}

Context gpu()
{
  return makeContext({DeviceKind::cuda, 0}, 1);
}

/// Sums of doubles in another order: 1e-16 of the sum for each of many samples.
template <class Formula>
void expectSums(const std::string& text)
{
  Context context = gpu();
  const auto formula = formulaOf<Formula>(text);
  for (const std::size_t count : {1, 2, 31, 32, 33, 2048, 100003, 1500007})
    for (const bool background : {false, true})
      for (const std::size_t slabs : {1, 3}) {
        SCOPED_TRACE(::testing::Message()
                     << text << count << " samples in " << slabs << " slabs, background " << background);
        const PairsOfIntensities pairs(count, background, true);
        const MetricEvaluation expected = evaluateOnCpu(formula, pairs.fixed, pairs.moving);

        const MetricEvaluation found = evaluateOnGpu(context, formula, pairs.fixed, pairs.moving, slabs);

        EXPECT_EQ(found.valid, expected.valid);
        EXPECT_NEAR(found.value, expected.value, 1e-10 * std::abs(expected.value));
        expectSameSlopes(found, expected, slopeTolerance);
        EXPECT_TRUE(sameBits(found, evaluateOnGpu(context, formula, pairs.fixed, pairs.moving, slabs)));
      }
}

using MetricsOnCudaTest = testing::GpuTest;

TEST_F(MetricsOnCudaTest, MeanSquaresAreThoseOfTheCpu)
{
  expectSums<MS>("");
  expectSums<MS>("(UseNormalization \"true\")\n");
  expectSums<MS>("(OutlierDifference 20)\n");
}

TEST_F(MetricsOnCudaTest, CorrelationIsThatOfTheCpu)
{
  expectSums<NCC>("");
  expectSums<NCC>("(SubtractMean \"false\")\n");
}

TEST_F(MetricsOnCudaTest, SoftDiceIsThatOfTheCpu)
{
  expectSums<SoftDice>("(ForegroundValue 100)\n");
}

/// Per bin, samples whose windows touch it.
std::vector<std::int64_t> samplesOfBins(const ParzenWindows& windows, const PairsOfIntensities& pairs)
{
  std::vector<std::int64_t> touched(static_cast<std::size_t>(windows.fixed.bins) * windows.moving.bins);
  for (std::size_t i = 0; i < pairs.fixed.size(); ++i) {
    if (!isPair(pairs.fixed[i], pairs.moving[i]))
      continue;
    double unused;
    const int row = windows.fixedStart(pairs.fixed[i], unused),
              column = windows.movingStart(pairs.moving[i], unused, unused);
    for (int f = 0; f <= windows.fixed.order; ++f)
      for (int m = 0; m <= windows.moving.order; ++m)
        ++touched[static_cast<std::size_t>(row + f) * windows.moving.bins + column + m];
  }
  return touched;
}

/// Counts against those of the CPU; value and slopes against the CPU's from the very counts of the GPU.
template <class Formula>
void expectHistogram(Context& context, const NaiveParzen& parzen, const PairsOfIntensities& pairs,
                     std::size_t slabs)
{
  const std::size_t count = pairs.fixed.size();
  SCOPED_TRACE(::testing::Message() << count << " samples in " << slabs << " slabs:\n" << parzen.text());
  const auto formula = formulaOf<Formula>(parzen.text());
  const ParzenHistogram histogram(parametersOf(parzen.text(), 3, 1, "Metric0"), 0, facts);
  const MetricEvaluation onCpu = evaluateOnCpu(formula, pairs.fixed, pairs.moving);

  const MetricEvaluation found = evaluateOnGpu(context, formula, pairs.fixed, pairs.moving, slabs);

  EXPECT_EQ(found.valid, onCpu.valid);
  ASSERT_EQ(found.counts.size(), onCpu.counts.size());
  const std::vector<std::int64_t> touched = samplesOfBins(histogram.windows(), pairs);
  const bool exactly = count / slabs < 16000;
  // A few units of 2^-32 where the limiter's exponential differs; otherwise half of 2^-16, and single
  // precision.
  const double ofSample = exactly ? 16 : std::ldexp(1, 32 - 17) + std::ldexp(1, 32 - 22);
  std::size_t wrong = 0;
  for (std::size_t bin = 0; bin < touched.size(); ++bin)
    wrong +=
        !(std::abs(static_cast<double>(found.counts[bin] - onCpu.counts[bin])) <= ofSample * touched[bin]);
  EXPECT_EQ(wrong, 0u) << "bins";
  // The bins' changes of probability, times logarithms up to 10.
  const double ofProbability =
      (parzen.fixedOrder + 1) * (parzen.movingOrder + 1) * ofSample / ParzenWindows::countScale;
  EXPECT_NEAR(found.value, onCpu.value, 10 * ofProbability);

  MetricEvaluation expected;
  const typename Formula::Table table = formula.finish({found.counts}, found.valid);
  expected.slopes = slopesOnCpu(formula, table, pairs.fixed, pairs.moving);
  EXPECT_NEAR(found.value, table.value, 1e-9 * std::abs(table.value) + 1e-14);
  expectSameSlopes(found, expected, slopeTolerance);
  EXPECT_TRUE(sameBits(found, evaluateOnGpu(context, formula, pairs.fixed, pairs.moving, slabs)));
}

template <class Formula>
void expectHistograms(const std::vector<NaiveParzen>& all, const std::vector<std::size_t>& counts)
{
  Context context = gpu();
  for (const NaiveParzen& parzen : all)
    for (const std::size_t count : counts)
      for (const bool background : {false, true})
        expectHistogram<Formula>(context, parzen, PairsOfIntensities(count, background, true),
                                 background ? 3 : 1);
}

const std::vector<NaiveParzen> allOrders = [] {
  std::vector<NaiveParzen> all;
  for (int fixedOrder = 0; fixedOrder <= 3; ++fixedOrder)
    for (int movingOrder = 0; movingOrder <= 3; ++movingOrder)
      all.push_back({32, 24, fixedOrder, movingOrder, 0.01, 0.05});
  return all;
}();

TEST_F(MetricsOnCudaTest, MutualInformationOfEveryOrderIsThatOfTheCpu)
{
  expectHistograms<MI>(allOrders, {1, 31, 2048, 50021});
}

TEST_F(MetricsOnCudaTest, NormalizedMutualInformationOfEveryOrderIsThatOfTheCpu)
{
  expectHistograms<NMI>(allOrders, {1, 31, 2048, 50021});
}

TEST_F(MetricsOnCudaTest, HistogramsOfEverySizeAreThoseOfTheCpu)
{
  const std::vector<NaiveParzen> sizes{{8, 8},     {64, 64},        {128, 128},     {200, 200},
                                       {256, 256}, {33, 257, 3, 3}, {300, 20, 1, 2}};
  expectHistograms<MI>(sizes, {31, 2048, 100003, 400009});
  expectHistograms<NMI>(sizes, {2048, 300007});
}

TEST_F(MetricsOnCudaTest, HistogramsTooLargeForSharedMemoryAreThoseOfTheCpu)
{
  expectHistograms<MI>({{1000, 900, 0, 3}}, {2048, 100003});
}

TEST_F(MetricsOnCudaTest, BlocksThatEmptyTheirBinsOnTheWayCountAsTheCpu)
{
  expectHistogram<MI>(cuda, {200, 200, 0, 3}, PairsOfIntensities(9000011, true, false), 1);
}

TEST_F(MetricsOnCudaTest, ImagesOfOneIntensityHaveNoValueAndNoSlope)
{
  const LevelFacts flat{5, 5, 5, 5};
  for (const std::size_t count : {2, 2048, 300000}) {
    const Intensities same(count, 5.0f), none(count, 0.0f);
    const auto expectNothing = [&](const auto& formula) {
      const MetricEvaluation found = evaluateOnGpu(cuda, formula, same, same);
      EXPECT_EQ(found.value, 0);
      EXPECT_EQ(found.valid, count);
      for (const float slope : found.slopes)
        ASSERT_EQ(slope, 0);
    };
    const std::string boxes = "(FixedKernelBSplineOrder 0)\n(MovingKernelBSplineOrder 0)\n";
    expectNothing(formulaOf<MS>("", flat));
    expectNothing(formulaOf<NCC>("", flat));
    expectNothing(formulaOf<MI>(boxes, flat));
    expectNothing(formulaOf<NMI>(boxes, flat));
  }
}

TEST_F(MetricsOnCudaTest, WithoutAnySampleThereIsNoValueAndNoSlope)
{
  const auto expectNothing = [&](const auto& formula) {
    for (const std::size_t count : {5, 300000}) {
      const Intensities fixed(count, 50.0f), moving(count, std::numeric_limits<float>::quiet_NaN());
      const MetricEvaluation found = evaluateOnGpu(cuda, formula, fixed, moving);
      EXPECT_EQ(found.value, 0);
      EXPECT_EQ(found.valid, 0u);
      for (const float slope : found.slopes)
        ASSERT_EQ(slope, 0);
    }
  };
  expectNothing(formulaOf<MS>(""));
  expectNothing(formulaOf<NCC>(""));
  expectNothing(formulaOf<MI>(""));
  expectNothing(formulaOf<NMI>(""));
}

TEST_F(MetricsOnCudaTest, IntensitiesFarFromZeroFallInTheSameBins)
{
  const LevelFacts far{1e6, 1e6 + 100, -3e7, -3e7 + 4e5};
  const std::size_t count = 300007;
  Intensities fixed = randomIntensities(count, 1, far.fixedMin, far.fixedMax);
  const Intensities moving = randomIntensities(count, 2, far.movingMin, far.movingMax);
  const auto formula = formulaOf<MI>("(MovingKernelBSplineOrder 0)\n", far);

  const MetricEvaluation found = evaluateOnGpu(cuda, formula, fixed, moving);

  EXPECT_EQ(found.counts, evaluateOnCpu(formula, fixed, moving).counts) << "boxes count whole samples";
}

}
}
