#include "Components/Metrics/CorrespondingPointsEuclideanDistanceMetric.h"

#include "Components/Transforms/TranslationTransform.h"
#include "Testing/Support/Checks/TermChecks.h"
#include "Testing/Support/ErrorText.h"

#include <cmath>

namespace tessera {
namespace {

using namespace testing;

template <int D>
CorrespondingPointsEuclideanDistanceMetric<D> metricOf(const TermScene<D>& scene,
                                                       const std::string& more = "")
{
  CorrespondingPointsEuclideanDistanceMetric<D> metric(
      parametersOf("(Metric \"CorrespondingPointsEuclideanDistanceMetric\")\n" + more, D));
  metric.prepareForLevel(host, scene.level);
  return metric;
}

TEST(CorrespondingPointsTest, IsTheMeanDistanceOfMappedPointsToTheirPartners)
{
  TermScene<2> scene(1, {40, 36});
  scene.use(std::make_shared<TranslationTransform<2>>(parametersOf("", 2, 1, "Transform0")), 0);
  scene.chain->parameters = {1, 2};
  const auto expect = [&](const std::vector<double>& weights, const std::string& text, double value,
                          double slopeX, double slopeY) {
    // Mapped: (1, 2), (11, 2), (1, 2). Differences: (3, 4), none, (-1, 0).
    const PointPairs<2> pairs{{{0, 0}, {10, 0}, {0, 0}}, {{-2, -2}, {11, 2}, {2, 2}}, weights};
    scene.level.points = &pairs;
    auto metric = metricOf<2>(scene, text);
    std::vector<double> gradient(2, 7.0);
    const TermValue found = metric.evaluate(host, PointList<2>{}, scene.chain->parameters, gradient);
    EXPECT_EQ(found.valid, 3u);
    EXPECT_DOUBLE_EQ(found.value, value);
    EXPECT_DOUBLE_EQ(gradient[0], slopeX);
    EXPECT_DOUBLE_EQ(gradient[1], slopeY);
  };
  expect({}, "", (5 + 0 + 1) / 3.0, (3 / 5.0 + 0 - 1) / 3, 4 / 5.0 / 3); // a pair that coincides has no slope
  expect({0.5, 2, 0.5}, "", (0.5 * 5 + 0.5 * 1) / 3.0, (0.5 * 3 / 5.0 - 0.5) / 3, 0.5 * 4 / 5.0 / 3);
  // pairs nearer than their error pull weakly
  expect({}, "(PointErrorInMm 2)", (std::sqrt(29.0) - 2 + std::sqrt(5.0) - 2) / 3,
         (3 / std::sqrt(29.0) - 1 / std::sqrt(5.0)) / 3, 4 / std::sqrt(29.0) / 3);
}

TEST(CorrespondingPointsTest, GradientMatchesFiniteDifferencesThroughAChain)
{
  for (const Combination combination : {Combination::compose, Combination::add}) {
    TermScene<3> scene(1, {24, 20, 18});
    scene.useAffine();
    scene.useAsInitial(combination);
    scene.useBSpline();
    PointPairs<3> pairs;
    const PointList<3> points = std::get<PointList<3>>(scene.points(700)); // more than one batch
    for (std::size_t i = 0; i < points.positions(); ++i) {
      pairs.fixedMm.push_back({points.mm[0][i], points.mm[1][i], points.mm[2][i]});
      pairs.movingMm.push_back({points.mm[0][i] + 2, points.mm[1][i] - 3, points.mm[2][i] + 1});
    }
    scene.level.points = &pairs;
    for (const char* error : {"", "(PointErrorInMm 3)"}) {
      auto metric = metricOf<3>(scene, error);
      // (step / distance)^2, distances of some mm
      expectGradientMatchesFiniteDifferences<3>(metric, PointList<3>{}, scene.chain->parameters, 1e-4, 1e-6);
    }
  }
}

TEST(CorrespondingPointsTest, PairsThatLeaveTheMovingMaskAreLeftOut)
{
  TermScene<2> scene(1, {40, 36});
  scene.use(std::make_shared<TranslationTransform<2>>(parametersOf("", 2, 1, "Transform0")), 0);
  const Vec<2> inMm = scene.moving->geometry.centerMm();
  const PointPairs<2> pairs{{inMm, {1e4, 1e4}}, {{inMm[0] + 2, inMm[1]}, {0, 0}}};
  scene.level.points = &pairs;
  scene.level.movingMask =
      std::make_shared<Mask<2>>(drawMask<2>(scene.moving->geometry, [](const Vec<2>&) { return true; }));
  auto metric = metricOf<2>(scene);

  const TermValue found = metric.evaluate(host, PointList<2>{}, scene.chain->parameters, {});

  EXPECT_EQ(found.valid, 1u);
  EXPECT_EQ(found.asked, 2u);
  EXPECT_NEAR(found.value, 2, 1e-12); // roundings of coordinates of some 100 mm
}

TEST(CorrespondingPointsTest, WithoutPointsItSaysWhichOptionsAreMissing)
{
  TermScene<2> scene(1, {40, 36});

  EXPECT_EQ(messageOf([&] { metricOf<2>(scene); }),
            "text:1: (Metric \"CorrespondingPointsEuclideanDistanceMetric\"): "
            "CorrespondingPointsEuclideanDistanceMetric has no points. Allowed: -fp and -mp with files of as "
            "many points each.");
}

}
}
