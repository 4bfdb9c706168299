#include "Components/Metrics/TransformFoldingPenalty.h"

#include "Components/Metrics/Shared/FoldingFormula.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/BendingScenes.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
TransformFoldingPenalty<D> penaltyOf(const TermScene<D>& scene, std::size_t gridSpacing = 1,
                                     const std::string& more = "")
{
  TransformFoldingPenalty<D> penalty(
      parametersOf("(FoldingSampleGridSpacing " + std::to_string(gridSpacing) + ")" + more, D, 1, "Metric0"));
  penalty.prepareForLevel(host, scene.level);
  return penalty;
}

/// det J of the whole chain at each sample, by central differences of mapped points.
template <int D>
std::vector<double> determinantsByDifferences(const TermScene<D>& scene, const SampleSet<D>& samples)
{
  const double stepMm = 1e-5;
  const PointList<D> all = allSamples<D>(samples);
  std::vector<double> determinants;
  for (std::size_t i = 0; i < all.positions(); ++i) {
    Matrix<D> jacobian{};
    for (int a = 0; a < D; ++a)
      for (const double sign : {1.0, -1.0}) {
        checks::Points<D> point(1);
        for (int d = 0; d < D; ++d)
          point.mm[d][0] = all.mm[d][i] + (d == a ? sign * stepMm : 0);
        mapChain<D>(host, *scene.chain, point.list(), point.out());
        for (int k = 0; k < D; ++k)
          jacobian[k][a] += sign * point.mm[k][0] / (2 * stepMm);
      }
    determinants.push_back(determinant(jacobian));
  }
  return determinants;
}

TEST(TransformFoldingPenaltyTest, IsTheSquaredLogarithmOfTheChangeOfVolume)
{
  TermScene<2> scene(1, {40, 36});
  scene.useAffine();
  auto penalty = penaltyOf<2>(scene);
  const auto valueOf = [&](const std::vector<double>& affine) {
    return penalty.evaluate(host, scene.points(50), affine, {}).value;
  };
  const double logSmall = std::log(0.01), below = -1 - 0.01;

  EXPECT_NEAR(valueOf({2, 0.3, 0, 1.5, 7, -8}), std::log(3) * std::log(3), 1e-12);
  EXPECT_NEAR(valueOf({0, 0.5, -0.5, 0, 0, 0}), std::log(4) * std::log(4), 1e-12);
  // a mirror image, det J = -1: the parabola about 0.01
  EXPECT_NEAR(valueOf({-1, 0, 0, 1, 0, 0}),
              logSmall * logSmall + 2 * logSmall / 0.01 * below + (1 - logSmall) / 1e-4 * below * below,
              1e-6);
  EXPECT_EQ(valueOf({1, 0, 0, 1, 300, 0}), 0);
}

TEST(TransformFoldingPenaltyTest, ToleratesChangesOfVolumeUpToAFactor)
{
  TermScene<2> scene(1, {40, 36});
  scene.useAffine();
  auto penalty = penaltyOf<2>(scene, 1, "\n(ToleratedVolumeFactor 2.5)");
  const auto valueOf = [&](double determinant) {
    return penalty.evaluate(host, scene.points(50), std::vector<double>{determinant, 0, 0, 1, 0, 0}, {})
        .value;
  };

  EXPECT_EQ(valueOf(2.4), 0);
  EXPECT_EQ(valueOf(1 / 2.4), 0);
  EXPECT_NEAR(valueOf(5), std::log(2) * std::log(2), 1e-12);
  EXPECT_NEAR(valueOf(0.2), std::log(2) * std::log(2), 1e-12);
}

TEST(TransformFoldingPenaltyTest, TheFormulaIsSmoothAndFallsAllTheWayFromFolds)
{
  for (const double tolerated : {0.0, std::log(3.0)}) {
    for (double determinant = -3; determinant < 4; determinant += 0.0103) {
      const double step = 1e-6;
      const VolumePenalty here = volumePenalty(determinant, tolerated),
                          next = volumePenalty(determinant + step, tolerated),
                          before = volumePenalty(determinant - step, tolerated);
      EXPECT_NEAR((next.value - before.value) / (2 * step), here.slope, 1e-5 * (1 + std::abs(here.slope)));
      EXPECT_EQ(here.slope < 0, determinant < std::exp(-tolerated)) << determinant;
    }
    const double tiny = 1e-9;
    const VolumePenalty below = volumePenalty(smallVolume - tiny, tolerated),
                        above = volumePenalty(smallVolume + tiny, tolerated);
    const auto curvatureBeside = [&](double from) {
      return (volumePenalty(from + 1e-6, tolerated).slope - volumePenalty(from, tolerated).slope) / 1e-6;
    };
    EXPECT_NEAR(below.value, above.value, 1e-5);
    EXPECT_NEAR(below.slope, above.slope, 1e-3);
    EXPECT_NEAR(curvatureBeside(smallVolume - 2e-6) / curvatureBeside(smallVolume), 1, 1e-3);
  }
}

TEST(TransformFoldingPenaltyTest, IsTheMeanOverSamplesOfTheWholeChain)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useAffine();
  scene.useAsInitial(Combination::compose);
  scene.useBSpline();
  const SampleSet<3> samples = scene.points(300);
  auto penalty = penaltyOf<3>(scene);
  double expected = 0;
  for (const double determinant : determinantsByDifferences<3>(scene, samples))
    expected += volumePenalty(determinant, 0).value / 300;

  const TermValue found = penalty.evaluate(host, samples, scene.chain->parameters, {});

  EXPECT_EQ(found.valid, 300u);
  EXPECT_NEAR(found.value, expected, 1e-6 * expected);
}

template <int D>
void expectDifferences(const TermScene<D>& scene, const std::string& what)
{
  auto penalty = penaltyOf<D>(scene);
  SCOPED_TRACE(what);
  // A step of 1e-5 mm is 1e-6 of the grid's spacing; its square times the third derivative is left, and
  // rounding of 1e-16 by 1e-6.
  expectGradientMatchesFiniteDifferences<D>(penalty, scene.points(700), scene.chain->parameters, 1e-5, 1e-6);
}

TEST(TransformFoldingPenaltyTest, GradientMatchesFiniteDifferencesInAllChains)
{
  forEachBendingScene<2>(expectDifferences<2>);
  forEachBendingScene<3>(expectDifferences<3>);
}

TEST(TransformFoldingPenaltyTest, GradientMatchesFiniteDifferencesWhereTheTransformFolds)
{
  TermScene<2> scene(1, {41, 36});
  useBSpline<2>(scene, 3, false, 40);
  const std::vector<double> determinants = determinantsByDifferences<2>(scene, scene.points(700));
  ASSERT_GT(std::ranges::count_if(determinants, [](double d) { return d <= 0; }), 50);

  expectDifferences<2>(scene, "folded");
}

TEST(TransformFoldingPenaltyTest, AFoldedStartUnfolds)
{
  TermScene<2> scene(1, {41, 36});
  useBSpline<2>(scene, 3, false, 20);
  const SampleSet<2> samples = scene.lattice(1);
  const auto least = [&] { return std::ranges::min(determinantsByDifferences<2>(scene, samples)); };
  ASSERT_LT(least(), -0.2);
  auto penalty = penaltyOf<2>(scene, 2);
  std::vector<double>& parameters = scene.chain->parameters;

  double stepMm = 1, value = penalty.evaluate(host, samples, parameters, {}).value;
  for (int iteration = 0; iteration < 300; ++iteration) { // steepest descent
    const std::vector<double> gradient = gradientOf<2>(penalty, samples, parameters);
    const std::vector<double> next = checks::moved(parameters, -stepMm, gradient);
    const double valueThere = penalty.evaluate(host, samples, next, {}).value;
    stepMm *= valueThere < value ? 1.5 : 0.3;
    if (valueThere < value) {
      value = valueThere;
      parameters = next;
    }
  }

  EXPECT_GT(least(), 0.1);
}

TEST(TransformFoldingPenaltyTest, TakesEveryNthVoxelOfALattice)
{
  TermScene<3> scene(1, {24, 20, 17});
  scene.useBSpline();
  VoxelLattice<3> third = std::get<VoxelLattice<3>>(scene.lattice(3));
  third.first = {1, 1, 1};
  third.count = {8, 7, 6}; // the last of 20 voxels is 19, of 17 it is 16

  const TermValue found =
      penaltyOf<3>(scene, 3).evaluate(host, scene.lattice(1), scene.chain->parameters, {});

  EXPECT_EQ(found.asked, 8u * 7 * 6);
  EXPECT_EQ(found.value, penaltyOf<3>(scene).evaluate(host, third, scene.chain->parameters, {}).value);
  EXPECT_EQ(penaltyOf<3>(scene, 3).evaluate(host, scene.points(99), scene.chain->parameters, {}).asked, 99u);
  EXPECT_EQ(penaltyOf<3>(scene, 50).evaluate(host, scene.lattice(1), scene.chain->parameters, {}).asked, 1u);
}

/// Compares the penalty on a lattice, axis by axis where the last B-spline allows it, with the same points
/// one by one. The Jacobians of B-splines before the last one are kept in single precision.
template <int D>
void expectThatOfItsPoints(const TermScene<D>& scene, const std::string& what)
{
  SCOPED_TRACE(what);
  auto lattice = std::get<VoxelLattice<D>>(scene.lattice(1));
  lattice.first[D - 1] = 2;
  lattice.count[D - 1] -= 3;
  lattice.step[0] = 2;
  lattice.count[0] /= 2;
  std::vector<std::uint8_t> inside(lattice.image->voxels.size());
  for (std::size_t i = 0; i < inside.size(); ++i)
    inside[i] = i % 7 < 4 && i > inside.size() / 5 ? 1 : 0;
  const auto mask = std::make_shared<Mask<D>>(lattice.image->geometry, std::move(inside));
  for (const MaskPointer<D>& fixedMask : {MaskPointer<D>{}, MaskPointer<D>{mask}}) {
    lattice.mask = fixedMask;
    auto penalty = penaltyOf<D>(scene);
    const std::vector<double>& parameters = scene.chain->parameters;
    std::vector<double> gradient(parameters.size(), 5), pointGradient(parameters.size(), 7);

    const TermValue found = penalty.evaluate(host, lattice, parameters, gradient),
                    alone = penalty.evaluate(host, lattice, parameters, {}),
                    points = penalty.evaluate(host, allSamples<D>(lattice), parameters, pointGradient);

    EXPECT_EQ(found.valid, points.valid);
    EXPECT_EQ(found.asked, points.asked);
    EXPECT_EQ(found.value, alone.value);
    EXPECT_NEAR(found.value, points.value, 1e-6 * points.value);
    EXPECT_LE(largestDifference(gradient, pointGradient), 1e-6 * largestMagnitude(pointGradient));
  }
}

TEST(TransformFoldingPenaltyTest, OnALatticeIsThatOfItsPoints)
{
  forEachBendingScene<2>(expectThatOfItsPoints<2>);
  forEachBendingScene<3>(expectThatOfItsPoints<3>);
}

TEST(TransformFoldingPenaltyTest, GoesAxisByAxisWhereACubicBSplineIsAlongTheLattice)
{
  std::size_t byAxes = 0;
  forEachBendingScene<3>([&](const TermScene<3>& scene, const std::string& what) {
    const bool found =
        foldingLattice<3>(std::get<VoxelLattice<3>>(scene.lattice(2)), scene.level).has_value();
    EXPECT_EQ(found, what == "B-spline of order 3" || what == "B-spline added to affine") << what;
    byAxes += found;
  });
  EXPECT_EQ(byAxes, 2u);
  TermScene<3> twoSplines(1, {24, 20, 18});
  twoSplines.useBSpline();
  twoSplines.useAsInitial(Combination::add);
  useBSpline<3>(twoSplines, 3, false);
  expectThatOfItsPoints<3>(twoSplines, "added to a B-spline");
  EXPECT_TRUE(foldingLattice<3>(std::get<VoxelLattice<3>>(twoSplines.lattice(1)), twoSplines.level));
}

TEST(TransformFoldingPenaltyTest, RepeatsItsBitsForAnyThreadCount)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useBSpline();
  auto penalty = penaltyOf<3>(scene);

  expectSameBitsForAnyThreadCount<3>(penalty, scene.lattice(1), scene.chain->parameters);
}

}
}
