#include "Components/Metrics/DisplacementMagnitudePenalty.h"

#include "Components/Transforms/TranslationTransform.h"
#include "Testing/Support/Checks/TermChecks.h"
#include "Testing/Support/ErrorText.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
void prepare(DisplacementMagnitudePenalty<D>& penalty, const TermScene<D>& scene)
{
  penalty.prepareForLevel(host, scene.level);
}

TEST(DisplacementMagnitudePenaltyTest, IsTheSquaredLengthOfATranslation)
{
  TermScene<2> scene(1, {40, 36});
  scene.use(std::make_shared<TranslationTransform<2>>(parametersOf("", 2, 1, "Transform0")), 0);
  scene.chain->parameters = {300, -400}; // outside the moving image, which does not matter
  DisplacementMagnitudePenalty<2> penalty(parametersOf("", 2, 1, "Metric0"));
  prepare<2>(penalty, scene);
  std::vector<double> gradient(2, 7.0);

  const TermValue found = penalty.evaluate(host, scene.lattice(1), scene.chain->parameters, gradient);

  EXPECT_NEAR(found.value, 250000, 1e-6);
  EXPECT_EQ(found.valid, 40u * 36u);
  EXPECT_NEAR(gradient[0], 600, 1e-8);
  EXPECT_NEAR(gradient[1], -800, 1e-8);
}

TEST(DisplacementMagnitudePenaltyTest, IsTheMeanOverTheMappedPointsOfTheWholeChain)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useAffine();
  scene.useAsInitial(Combination::compose);
  scene.useBSpline();
  DisplacementMagnitudePenalty<3> penalty(parametersOf("", 3, 1, "Metric0"));
  prepare<3>(penalty, scene);
  const SampleSet<3> samples = scene.points(300);
  double expected = 0;
  const PointList<3>& list = std::get<PointList<3>>(samples);
  for (std::size_t i = 0; i < 300; ++i) {
    checks::Points<3> point(1), mapped(1);
    for (int d = 0; d < 3; ++d)
      point.mm[d][0] = list.mm[d][i];
    mapChain<3>(host, *scene.chain, point.list(), mapped.out());
    for (int d = 0; d < 3; ++d)
      expected += (mapped.mm[d][0] - point.mm[d][0]) * (mapped.mm[d][0] - point.mm[d][0]) / 300;
  }

  EXPECT_NEAR(penalty.evaluate(host, samples, scene.chain->parameters, {}).value, expected, 1e-10 * expected);
}

template <int D>
void expectDifferences(TermScene<D>& scene)
{
  DisplacementMagnitudePenalty<D> penalty(parametersOf("", D, 1, "Metric0"));
  prepare<D>(penalty, scene);
  // Quadratic in the parameters of affine and B-spline transforms: only rounding is left.
  expectGradientMatchesFiniteDifferences<D>(penalty, scene.points(700), scene.chain->parameters, 1e-4, 1e-6);
}

TEST(DisplacementMagnitudePenaltyTest, GradientMatchesFiniteDifferencesThroughAChain)
{
  for (const Combination combination : {Combination::compose, Combination::add}) {
    TermScene<3> scene(1, {24, 20, 18});
    scene.useAffine();
    scene.useAsInitial(combination);
    scene.useBSpline();
    expectDifferences<3>(scene);
    TermScene<2> plane(1, {40, 36});
    plane.useBSpline();
    plane.useAsInitial(combination);
    plane.useAffine();
    expectDifferences<2>(plane);
  }
}

TEST(DisplacementMagnitudePenaltyTest, RepeatsItsBitsForAnyThreadCount)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useBSpline();
  DisplacementMagnitudePenalty<3> penalty(parametersOf("", 3, 1, "Metric0"));
  prepare<3>(penalty, scene);

  expectSameBitsForAnyThreadCount<3>(penalty, scene.lattice(1), scene.chain->parameters);
}

TEST(DisplacementMagnitudePenaltyTest, PointsOutsideTheMovingMaskDoNotCount)
{
  TermScene<2> scene(1, {40, 36});
  scene.useBSpline();
  for (double& parameter : scene.chain->parameters)
    parameter += 500; // mm
  scene.level.movingMask =
      std::make_shared<Mask<2>>(drawMask<2>(scene.moving->geometry, [](const Vec<2>&) { return true; }));
  DisplacementMagnitudePenalty<2> penalty(parametersOf("", 2, 1, "Metric0"));
  prepare<2>(penalty, scene);

  EXPECT_EQ(exitCodeOf([&] { penalty.evaluate(host, scene.points(400), scene.chain->parameters, {}); }),
            ExitCode::registrationFailed);
}

}
}
