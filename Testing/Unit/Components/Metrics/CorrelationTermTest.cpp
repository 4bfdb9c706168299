#include "Components/Metrics/PCAMetric.h"
#include "Components/Metrics/PCAMetric2.h"
#include "Components/Metrics/SumOfPairwiseCorrelationCoefficientsMetric.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/SeriesScenes.h"

namespace tessera {
namespace {

using namespace testing;

const std::string unconstrained = "(UseZeroAverageDisplacementConstraint \"false\")\n";

/// The correlation coefficients of all pairs of times over the places that have all times.
std::vector<std::vector<double>> correlations(const SeriesScene& scene, const PointList<3>& places,
                                              std::size_t& valid)
{
  std::vector<std::vector<double>> rows;
  for (const std::vector<double>& row : valuesOverTime(scene, places))
    if (std::ranges::none_of(row, [](double value) { return std::isnan(value); }))
      rows.push_back(row);
  valid = rows.size();
  const std::size_t times = rows[0].size();
  const auto product = [&](std::size_t t, std::size_t u) {
    double sum = 0, ofT = 0, ofU = 0;
    for (const std::vector<double>& row : rows) {
      ofT += row[t] / static_cast<double>(valid);
      ofU += row[u] / static_cast<double>(valid);
    }
    for (const std::vector<double>& row : rows)
      sum += (row[t] - ofT) * (row[u] - ofU);
    return sum;
  };
  std::vector<std::vector<double>> k(times, std::vector<double>(times));
  for (std::size_t t = 0; t < times; ++t)
    for (std::size_t u = 0; u < times; ++u)
      k[t][u] = product(t, u) / std::sqrt(product(t, t) * product(u, u));
  return k;
}

/// The largest eigenvalue by powers of the matrix.
double largestEigenvalue(const std::vector<std::vector<double>>& k)
{
  std::vector<double> v(k.size(), 1.0);
  double value = 0;
  for (int step = 0; step < 3000; ++step) {
    std::vector<double> next(k.size(), 0.0);
    for (std::size_t t = 0; t < k.size(); ++t)
      for (std::size_t u = 0; u < k.size(); ++u)
        next[t] += k[t][u] * v[u];
    value = checks::norm(next);
    for (double& entry : next)
      entry /= value;
    v = next;
  }
  return value;
}

TEST(CorrelationTermTest, ValuesFollowFromTheCorrelationsOfAllPairsOfTimes)
{
  const SeriesScene scene;
  const PointList<3> places = scene.points(600, -0.05);
  std::size_t valid = 0;
  const auto k = correlations(scene, places, valid);
  ASSERT_LT(valid, 600u);
  double squares = 0;
  for (const std::vector<double>& row : k)
    for (const double entry : row)
      squares += entry * entry;
  auto pairs = metricOfSeries<SumOfPairwiseCorrelationCoefficientsMetric<3>>(scene);
  auto first = metricOfSeries<PCAMetric<3>>(scene, "(NumEigenValues 1)");

  const TermValue found = pairs.evaluate(host, places, scene.chain->parameters, {});

  EXPECT_EQ(found.valid, valid);
  EXPECT_EQ(found.asked, 600u);
  EXPECT_NEAR(found.value, 1 - std::sqrt(squares) / 5, 1e-12);
  EXPECT_NEAR(first.evaluate(host, places, scene.chain->parameters, {}).value, 5 - largestEigenvalue(k),
              1e-10);
}

TEST(CorrelationTermTest, PCAMetric2WeighsEigenvaluesByTheirRank)
{
  // 5 times: sum i l_i = 5 + (5 - l_1) + (5 - l_1 - l_2) + ..., whose terms PCAMetric gives.
  const SeriesScene scene;
  const PointList<3> places = scene.points(400);
  double expected = 5;
  for (int i = 1; i < 5; ++i)
    expected += metricOfSeries<PCAMetric<3>>(scene, "(NumEigenValues " + std::to_string(i) + ")")
                    .evaluate(host, places, scene.chain->parameters, {})
                    .value;

  EXPECT_NEAR(metricOfSeries<PCAMetric2<3>>(scene).evaluate(host, places, scene.chain->parameters, {}).value,
              expected, 1e-12);
}

template <int D, class Metric>
void expectGradient(const std::string& text)
{
  // Intensities are floats: their roundings of 1e-7 of the values over a step of 1e-3.
  const SeriesSceneOf<D> scene;
  const std::size_t times = scene.series->geometry.size[D - 1];
  const PointList<D> places = scene.points(700, 0.1);
  auto free = metricOfSeries<Metric>(scene, unconstrained + text),
       bound = metricOfSeries<Metric>(scene, text);
  expectGradientMatchesFiniteDifferences<D>(free, places, scene.chain->parameters, 1e-3, 1e-4);
  expectSameBitsForAnyThreadCount<D>(free, scene.points(4000), scene.chain->parameters);
  const std::vector<double> gradient = gradientOf<D>(bound, places, scene.chain->parameters);
  const std::size_t each = gradient.size() / times;
  for (std::size_t k = 0; k < each; ++k) {
    double sum = 0;
    for (std::size_t t = 0; t < times; ++t)
      sum += gradient[t * each + k];
    ASSERT_LT(std::abs(sum) / static_cast<double>(times), 1e-12 * checks::norm(gradient));
  }
}

TEST(CorrelationTermTest, GradientsMatchFiniteDifferencesAndTheConstraintTakesTheirMeanOff)
{
  expectGradient<3, PCAMetric<3>>("(NumEigenValues 2)\n");
  expectGradient<4, PCAMetric<4>>("(NumEigenValues 2)\n");
  expectGradient<3, PCAMetric2<3>>("");
  expectGradient<4, PCAMetric2<4>>("");
  expectGradient<3, SumOfPairwiseCorrelationCoefficientsMetric<3>>("");
  expectGradient<4, SumOfPairwiseCorrelationCoefficientsMetric<4>>("");
}

TEST(CorrelationTermTest, RefusesAllEigenvaluesAndTimesOfOneIntensity)
{
  SeriesScene scene;
  PCAMetric<3> all(parametersOf("(NumEigenValues 5)"));
  EXPECT_PRED2(contains, errorText([&] { all.checkImages(scene.series->geometry, scene.series->geometry); }),
               "1 to 4");
  Image<3> flat = *scene.series;
  std::fill_n(flat.voxels.begin(), flat.geometry.size[0] * flat.geometry.size[1], 7.0f);
  scene.series = std::make_shared<const Image<3>>(flat);
  scene.interpolator->prepareForLevel(host, scene.series, 0);
  scene.level.fixed = scene.level.moving = scene.series;
  EXPECT_PRED2(contains,
               errorText(
                   [&] {
                     metricOfSeries<PCAMetric2<3>>(scene).evaluate(host, scene.points(300),
                                                                   scene.chain->parameters, {});
                   },
                   ExitCode::registrationFailed),
               "time 0");
}

}
}
