#include "Components/Metrics/SumSquaredTissueVolumeDifference.h"

#include "Testing/Support/Checks/MetricTermChecks.h"
#include "Testing/Support/ErrorText.h"

#include <limits>

namespace tessera {
namespace {

using namespace testing;

const std::string values = "(AirValue -200)\n(TissueValue 300)\n";

template <int D>
SumSquaredTissueVolumeDifference<D> metricOf(const TermScene<D>& scene, const std::string& more = "")
{
  SumSquaredTissueVolumeDifference<D> metric(parametersOf(values + more, D, 1, "Metric0"));
  metric.prepareForLevel(host, scene.level);
  return metric;
}

/// The interpolated moving intensity at T(x) of a sample, NaN outside of the image.
template <int D>
std::vector<float> movingIntensities(const TermScene<D>& scene, const PointList<D>& samples)
{
  PointBatch<D> mapped;
  ListSamples<D> points;
  mapped.count = points.count = samples.positions();
  for (int d = 0; d < D; ++d)
    points.pointMm[d] = samples.mm[d].data();
  mapChain<D>(host, *scene.chain, points, mapped.out());
  std::vector<float> moving(points.count);
  std::vector<std::uint8_t> inside(points.count);
  scene.interpolator->evaluate(host, mapped.list(), moving.data(), nullptr, inside.data());
  for (std::size_t i = 0; i < inside.size(); ++i)
    if (!inside[i])
      moving[i] = std::numeric_limits<float>::quiet_NaN();
  return moving;
}

TEST(SumSquaredTissueVolumeDifferenceTest, IsTheMeanOfSquaresThatTheFormulaGivesByHand)
{
  TermScene<2> scene(1, {40, 36});
  scene.useAffine();
  scene.chain->parameters = {1.2, 0.1, -0.3, 0.9, 4, -6}; // det = 1.11
  auto metric = metricOf<2>(scene);
  const PointList<2> samples = std::get<PointList<2>>(scene.points(500, -0.1));
  const std::vector<float> moving = movingIntensities<2>(scene, samples);
  double sum = 0;
  std::size_t valid = 0;
  for (std::size_t i = 0; i < samples.positions(); ++i) {
    if (std::isnan(moving[i]))
      continue;
    const double difference = (samples.fixed[i] + 200.0 - 1.11 * (moving[i] + 200.0)) / 500;
    sum += difference * difference;
    ++valid;
  }
  ASSERT_LT(valid, 500u);

  const TermValue found = metric.evaluate(host, samples, scene.chain->parameters, {});

  EXPECT_EQ(found.valid, valid);
  EXPECT_EQ(found.asked, 500u);
  EXPECT_NEAR(found.value, sum / static_cast<double>(valid), 1e-9 * found.value);
}

TEST(SumSquaredTissueVolumeDifferenceTest, AirThatIsBreathedInCostsNothing)
{
  // Twice the volume, half the density: f + 200 = 2 (m + 200) with T(x) = diag(2, 1) x.
  TermScene<2> scene(1, {40, 36});
  scene.useAffine();
  scene.chain->parameters = {2, 0, 0, 1, 0, 0};
  PointList<2> samples = std::get<PointList<2>>(scene.points(300, 0.3));
  const std::vector<float> moving = movingIntensities<2>(scene, samples);
  for (std::size_t i = 0; i < samples.positions(); ++i)
    samples.fixed[i] = 2 * (moving[i] + 200) - 200;
  auto metric = metricOf<2>(scene);

  EXPECT_NEAR(metric.evaluate(host, samples, scene.chain->parameters, {}).value, 0,
              1e-12); // fixed is float
}

TEST(SumSquaredTissueVolumeDifferenceTest, GradientMatchesFiniteDifferences)
{
  // Intensities are floats: their roundings of 1e-7 of the values over a step of 1e-3; the square of the
  // step times third derivatives of the images is as large.
  constexpr double step = 1e-3, tolerance = 1e-4;
  expectGradientsInChains<2>(metricOf<2>, step, tolerance);
  expectGradientsInChains<3>(metricOf<3>, step, tolerance);
}

TEST(SumSquaredTissueVolumeDifferenceTest, LeavesOutWhatMapsOutOfTheMovingMask)
{
  const TermScene<3> scene = expectMovingMaskCounts(metricOf<3>);
  EXPECT_PRED2(contains,
               errorText(
                   [&] {
                     metricOf<3>(scene, "(RequiredRatioOfValidSamples 0.9)")
                         .evaluate(host, scene.lattice(1), scene.chain->parameters, {});
                   },
                   ExitCode::registrationFailed),
               "samples");
}

TEST(SumSquaredTissueVolumeDifferenceTest, RepeatsItsBitsForAnyThreadCount)
{
  expectMetricRepeatsItsBits(metricOf<3>);
}

TEST(SumSquaredTissueVolumeDifferenceTest, RefusesTissueThatIsAir)
{
  EXPECT_PRED2(contains, errorText([] {
                 SumSquaredTissueVolumeDifference<2>(parametersOf("(AirValue 7)\n(TissueValue 7)", 2, 1));
               }),
               "the same as AirValue");
}

}
}
