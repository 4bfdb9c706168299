#include "Components/Metrics/TransformBendingEnergyPenalty.h"

#include "Testing/Support/Checks/TermChecks.h"
#include "Testing/Support/ErrorText.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
TransformBendingEnergyPenalty<D> penaltyOf(const TermScene<D>& scene, const std::string& parameters = "")
{
  TransformBendingEnergyPenalty<D> penalty(parametersOf(parameters, D, 1, "Metric0"));
  penalty.prepareForLevel(host, scene.level);
  return penalty;
}

/// Second derivatives of the chain by differences of mapped points, one sample at a time.
template <int D>
double naiveEnergy(const TermScene<D>& scene, const SampleSet<D>& samples, double stepMm)
{
  const PointList<D> all = allSamples<D>(samples);
  const auto mapped = [&](Vec<D> pointMm) {
    checks::Points<D> point(1);
    for (int d = 0; d < D; ++d)
      point.mm[d][0] = pointMm[d];
    mapChain<D>(host, *scene.chain, point.list(), point.out());
    for (int d = 0; d < D; ++d)
      pointMm[d] = point.mm[d][0];
    return pointMm;
  };
  double sum = 0;
  for (std::size_t i = 0; i < all.positions(); ++i)
    for (int a = 0; a < D; ++a)
      for (int b = 0; b < D; ++b) {
        const auto at = [&](double along, double across) {
          Vec<D> pointMm;
          for (int d = 0; d < D; ++d)
            pointMm[d] = all.mm[d][i];
          pointMm[a] += along * stepMm;
          pointMm[b] += across * stepMm;
          return mapped(pointMm);
        };
        const Vec<D> pp = at(1, 1), pm = at(1, -1), mp = at(-1, 1), mm = at(-1, -1);
        for (int k = 0; k < D; ++k) {
          const double second = (pp[k] - pm[k] - mp[k] + mm[k]) / (4 * stepMm * stepMm);
          sum += second * second;
        }
      }
  return sum / static_cast<double>(all.positions());
}

TEST(TransformBendingEnergyPenaltyTest, IsTheMeanOfSquaredSecondDerivativesOfTheWholeChain)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useBSpline();
  for (const bool chained : {false, true}) {
    if (chained) {
      scene.useAsInitial(Combination::compose);
      scene.useBSpline();
    }
    auto penalty = penaltyOf<3>(scene);
    const SampleSet<3> samples = scene.points(300);

    const TermValue found = penalty.evaluate(host, samples, scene.chain->parameters, {});

    EXPECT_EQ(found.valid, 300u);
    // A cubic spline's second derivative is piecewise linear: its kinks are seen by few samples within the
    // step.
    EXPECT_NEAR(found.value, naiveEnergy<3>(scene, samples, 0.01), 2e-3 * found.value);
  }
}

TEST(TransformBendingEnergyPenaltyTest, GradientMatchesFiniteDifferences)
{
  for (const Combination combination : {Combination::compose, Combination::add}) {
    TermScene<2> scene(1, {40, 36});
    scene.useBSpline();
    scene.useAsInitial(combination);
    scene.useBSpline();
    auto penalty = penaltyOf<2>(scene);

    // Quadratic in the parameters: only rounding is left.
    expectGradientMatchesFiniteDifferences<2>(penalty, scene.points(700), scene.chain->parameters, 1e-3,
                                              1e-8);
  }
}

TEST(TransformBendingEnergyPenaltyTest, InVoxelsItIsTheSquareOfTheMeanSpacingTimesTheOneInMillimetres)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useBSpline();
  const Vec<3>& spacingMm = scene.fixed->geometry.spacingMm;
  const double square = std::pow(spacingMm[0] * spacingMm[1] * spacingMm[2], 2.0 / 3);
  ASSERT_GT(std::abs(square - 1), 0.1);
  for (const char* integration : {"Sampled", "Exact"})
    for (const SampleSet<3>& samples : {SampleSet<3>(scene.points(300)), SampleSet<3>(scene.lattice(1))}) {
      const std::string text = std::string("(BendingEnergyIntegration \"") + integration + "\")\n";
      auto inMm = penaltyOf<3>(scene, text);
      auto inVoxels = penaltyOf<3>(scene, text + "(BendingEnergyUnit \"Voxel\")");

      const double value = inMm.evaluate(host, samples, scene.chain->parameters, {}).value;

      EXPECT_NEAR(inVoxels.evaluate(host, samples, scene.chain->parameters, {}).value, square * value,
                  1e-12 * square * value);
      expectGradientMatchesFiniteDifferences<3>(inVoxels, samples, scene.chain->parameters, 1e-3, 1e-8);
    }
}

TEST(TransformBendingEnergyPenaltyTest, RepeatsItsBitsForAnyThreadCount)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useBSpline();
  auto penalty = penaltyOf<3>(scene);

  expectSameBitsForAnyThreadCount<3>(penalty, scene.lattice(1), scene.chain->parameters);
}

TEST(TransformBendingEnergyPenaltyTest, PointsOutsideTheMovingImageCountAndThoseOutsideItsMaskDoNot)
{
  TermScene<2> scene(1, {40, 36});
  scene.useBSpline();
  for (double& parameter : scene.chain->parameters)
    parameter += 500; // mm
  const SampleSet<2> samples = scene.points(400);

  EXPECT_EQ(penaltyOf<2>(scene).evaluate(host, samples, scene.chain->parameters, {}).valid, 400u);
  scene.level.movingMask =
      std::make_shared<Mask<2>>(drawMask<2>(scene.moving->geometry, [](const Vec<2>&) { return true; }));
  auto masked = penaltyOf<2>(scene);
  EXPECT_EQ(exitCodeOf([&] { masked.evaluate(host, samples, scene.chain->parameters, {}); }),
            ExitCode::registrationFailed);
}

TEST(TransformBendingEnergyPenaltyTest, LinearTransformsDoNotBend)
{
  TermScene<2> scene(1, {40, 36});
  scene.useAffine();
  auto penalty = penaltyOf<2>(scene);

  EXPECT_EQ(penalty.evaluate(host, scene.points(100), scene.chain->parameters, {}).value, 0);
  EXPECT_EQ(gradientOf<2>(penalty, scene.points(100), scene.chain->parameters), std::vector<double>(6, 0.0));
}

}
}
