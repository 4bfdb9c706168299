#include "Components/Metrics/VarianceOverLastDimensionMetric.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/SeriesScenes.h"

namespace tessera {
namespace {

using namespace testing;
using Variance = VarianceOverLastDimensionMetric<3>;

const std::string unconstrained = "(UseZeroAverageDisplacementConstraint \"false\")\n";

/// The variance of the numbers of a row that are no NaN; NaN if there are none.
double varianceOf(const std::vector<double>& row)
{
  double n = 0, sum = 0, squares = 0;
  for (const double value : row)
    if (!std::isnan(value)) {
      ++n;
      sum += value;
      squares += value * value;
    }
  return n == 0 ? std::nan("") : squares / n - sum / n * (sum / n);
}

/// Returns the variance of the image as it is, in the mean over its places.
template <int D>
double varianceOfImage(const Image<D>& series)
{
  const std::size_t times = series.geometry.size[D - 1], places = series.geometry.voxelCount() / times;
  double sum = 0;
  for (std::size_t p = 0; p < places; ++p) {
    std::vector<double> row;
    for (std::size_t t = 0; t < times; ++t)
      row.push_back(series.voxels[t * places + p]);
    sum += varianceOf(row) / static_cast<double>(places);
  }
  return sum;
}

struct VarianceSum {
  double sum = 0;
  std::size_t valid = 0; // places that have a variance
};
VarianceSum varianceSum(const SeriesScene& scene, const PointList<3>& places)
{
  VarianceSum found;
  for (const std::vector<double>& row : valuesOverTime(scene, places))
    if (const double variance = varianceOf(row); !std::isnan(variance)) {
      found.sum += variance;
      ++found.valid;
    }
  return found;
}

TEST(VarianceOverLastDimensionMetricTest, IsTheMeanVarianceOverTime)
{
  SeriesScene scene;
  const PointList<3> places = scene.points(700, -0.08); // some leave the image at some times, some at all
  const auto [sum, valid] = varianceSum(scene, places);
  ASSERT_LT(valid, 700u);
  auto metric = metricOfSeries<Variance>(scene);

  const TermValue found = metric.evaluate(host, places, scene.chain->parameters, {});

  EXPECT_EQ(found.asked, 700u);
  EXPECT_EQ(found.valid, valid);
  EXPECT_NEAR(found.value, sum / static_cast<double>(valid) / varianceOfImage(*scene.series),
              1e-9 * found.value); // sums of squares less squares of sums, in double
}

TEST(VarianceOverLastDimensionMetricTest, TimesOutsideOfTheMovingMaskDoNotCount)
{
  SeriesScene scene;
  scene.level.movingMask = std::make_shared<Mask<3>>(
      drawMask<3>(scene.series->geometry, [&](const Vec<3>& p) { return p[0] > 20 && p[2] < 7; }));
  const PointList<3> places = scene.points(500);
  const auto [sum, valid] = varianceSum(scene, places);
  auto metric = metricOfSeries<Variance>(scene, "(RequiredRatioOfValidSamples 0.01)");

  const TermValue found = metric.evaluate(host, places, scene.chain->parameters, {});

  EXPECT_GT(valid, 50u);
  EXPECT_EQ(found.valid, valid);
  EXPECT_NEAR(found.value, sum / static_cast<double>(valid) / varianceOfImage(*scene.series),
              1e-9 * found.value);
}

TEST(VarianceOverLastDimensionMetricTest, GradientMatchesFiniteDifferences)
{
  // Intensities are floats: their roundings of 1e-7 of the values over a step of 1e-3.
  constexpr double step = 1e-3, tolerance = 1e-4;
  SeriesScene scene;
  auto metric = metricOfSeries<Variance>(scene, unconstrained);
  expectGradientMatchesFiniteDifferences<3>(metric, scene.points(700), scene.chain->parameters, step,
                                            tolerance);
  // after another stack
  auto composed = std::make_shared<TransformChain<3>>();
  composed->initial = scene.chain;
  scene.chain = composed;
  scene.level.chain = composed.get();
  scene.use(std::make_shared<BSplineStackTransform<3>>(parametersOf("(FinalGridSpacingInPhysicalUnits 9)")),
            1);
  auto after = metricOfSeries<Variance>(scene, unconstrained);
  expectGradientMatchesFiniteDifferences<3>(after, scene.points(700), scene.chain->parameters, step,
                                            tolerance);
}

TEST(VarianceOverLastDimensionMetricTest, InFourDimensionsItIsTheMeanVarianceOverTimeToo)
{
  const SeriesSceneOf<4> scene;
  const PointList<4> places = scene.points(400);
  auto metric = metricOfSeries<VarianceOverLastDimensionMetric<4>>(scene, unconstrained);
  double expected = 0;
  for (const std::vector<double>& row : valuesOverTime<4>(scene, places))
    expected += varianceOf(row) / static_cast<double>(places.positions());

  const TermValue found = metric.evaluate(host, places, scene.chain->parameters, {});

  EXPECT_NEAR(found.value, expected / varianceOfImage<4>(*scene.series), 1e-9 * found.value);
  expectGradientMatchesFiniteDifferences<4>(metric, places, scene.chain->parameters, 1e-3, 1e-4);
  expectSameBitsForAnyThreadCount<4>(metric, places, scene.chain->parameters);
}

TEST(VarianceOverLastDimensionMetricTest, TheConstraintTakesTheMeanOverTimeOffTheGradient)
{
  for (const bool isStack : {true, false}) {
    SeriesScene scene;
    if (!isStack) // its grid has an axis of time
      scene.use(
          std::make_shared<BSplineTransform<3>>(parametersOf("(FinalGridSpacingInPhysicalUnits 12 12 4)")),
          0.5);
    const PointList<3> places = scene.points(600);
    auto free = metricOfSeries<Variance>(scene, unconstrained), bound = metricOfSeries<Variance>(scene),
         old = metricOfSeries<Variance>(scene, "(SubtractMean \"true\")"),
         oldFree = metricOfSeries<Variance>(scene, "(SubtractMean \"false\")");
    const std::vector<double> all = gradientOf<3>(free, places, scene.chain->parameters);
    const std::vector<double> without = gradientOf<3>(bound, places, scene.chain->parameters);

    const std::size_t groups = isStack ? 1 : 3,
                      times = isStack ? 5 : scene.chain->transform->field()->grid().points.size[2],
                      each = all.size() / groups / times;
    for (std::size_t group = 0; group < groups; ++group)
      for (std::size_t k = 0; k < each; ++k) {
        double sum = 0, mean = 0;
        for (std::size_t t = 0; t < times; ++t) {
          sum += without[(group * times + t) * each + k];
          mean += all[(group * times + t) * each + k] / static_cast<double>(times);
        }
        ASSERT_LT(std::abs(sum) / static_cast<double>(times), 1e-12 * checks::norm(without));
        ASSERT_NEAR(without[group * times * each + k], all[group * times * each + k] - mean,
                    1e-14 * checks::norm(all));
      }
    EXPECT_NE(all, without);
    EXPECT_EQ(gradientOf<3>(old, places, scene.chain->parameters), without);
    EXPECT_EQ(gradientOf<3>(oldFree, places, scene.chain->parameters), all);
  }
}

TEST(VarianceOverLastDimensionMetricTest, DrawsDifferentTimesAnewForEachEvaluation)
{
  const SeriesScene scene;
  const PointList<3> places = scene.points(400);
  const std::string random = "(SampleLastDimensionRandomly \"true\")\n";
  const auto valueOf = [&](Variance& metric, int count) {
    Context context = threads(count);
    return metric.evaluate(context, places, scene.chain->parameters, {}).value;
  };
  auto all = metricOfSeries<Variance>(scene),
       two = metricOfSeries<Variance>(scene, random + "(NumSamplesLastDimension 2)"),
       again = metricOfSeries<Variance>(scene, random + "(NumSamplesLastDimension 2)"),
       five = metricOfSeries<Variance>(scene, random + "(NumSamplesLastDimension 5)");
  const double first = valueOf(two, 1), second = valueOf(two, 3), whole = valueOf(all, 1);

  EXPECT_EQ(valueOf(again, 3), first);
  EXPECT_EQ(valueOf(again, 1), second);
  EXPECT_NE(first, second);
  // The variance of n of G times has the mean (1 - 1/n) G / (G - 1) of that of all times: 5/8.
  double mean = 0;
  for (int k = 0; k < 40; ++k)
    mean += valueOf(two, 1) / 40;
  EXPECT_NEAR(mean, 0.625 * whole, 0.01 * whole);      // 16,000 pairs
  EXPECT_NEAR(valueOf(five, 1), whole, 1e-12 * whole); // in another order
}

TEST(VarianceOverLastDimensionMetricTest, RepeatsOneTimeAndHoldsTheNumberOfTimesToThoseThereAre)
{
  SeriesScene scene;
  const PointList<3> places = scene.points(300);
  std::vector<std::string> warnings;
  Variance metric(parametersOf("(SampleLastDimensionRandomly \"true\")\n(NumSamplesLastDimension 9)\n"
                               "(NumAdditionalSamplesFixed 3)\n(ReducedDimensionIndex 4)",
                               3, 1, "Metric0", [&](const std::string& line) { warnings.push_back(line); }));
  metric.prepareForLevel(host, scene.level);
  double sum = 0;
  for (std::vector<double> row : valuesOverTime(scene, places)) {
    row.insert(row.end(), 2, row[4]); // three times in all
    sum += varianceOf(row);
  }

  EXPECT_NEAR(metric.evaluate(host, places, scene.chain->parameters, {}).value,
              sum / 300 / varianceOfImage(*scene.series), 1e-8);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_PRED2(contains, warnings[0], "4 times are drawn");
  EXPECT_PRED2(contains, errorText([&] {
                 metricOfSeries<Variance>(scene, "(SampleLastDimensionRandomly \"true\")\n"
                                                 "(NumAdditionalSamplesFixed 1)\n(ReducedDimensionIndex 5)");
               }),
               "0 to 4");
}

TEST(VarianceOverLastDimensionMetricTest, RepeatsItsBitsForAnyThreadCount)
{
  const SeriesScene scene(1);
  auto metric = metricOfSeries<Variance>(scene);
  expectSameBitsForAnyThreadCount<3>(metric, scene.points(5000), scene.chain->parameters);
}

TEST(VarianceOverLastDimensionMetricTest, RefusesTransformsAndImagesWithoutTime)
{
  Variance bound(parametersOf("(A 1)")), free(parametersOf(unconstrained));
  const AffineTransform<3> affine(parametersOf("(A 1)"));
  EXPECT_PRED2(contains, errorText([&] { bound.checkTransform(affine); }), "belongs to one time");
  EXPECT_NO_THROW(free.checkTransform(affine));
  const auto check = [&](const ImageGeometry<3>& fixed, const ImageGeometry<3>& moving) {
    return errorText([&] { bound.checkImages(fixed, moving); }, ExitCode::unreadableInput);
  };
  const ImageGeometry<3> series = seriesGeometry({9, 8, 4});
  EXPECT_PRED2(contains, check(series, seriesGeometry({9, 8, 5})), "has 4 times, and the moving image 5");
  EXPECT_PRED2(contains, check(obliqueGeometry<3>({9, 8, 4}), series), "mix its last axis");
  EXPECT_PRED2(contains, check(series, seriesGeometry({9, 8, 1})), "one time only");
}

}
}
