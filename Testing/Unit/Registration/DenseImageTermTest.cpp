#include "Core/Registration/Terms/DenseImageTerm.h"

#include "Components/Metrics/AdvancedMattesMutualInformation.h"
#include "Components/Metrics/AdvancedMeanSquares.h"
#include "Components/Metrics/AdvancedNormalizedCorrelation.h"
#include "Components/Metrics/LocalNormalizedCorrelation.h"
#include "Components/Metrics/NormalizedMutualInformation.h"
#include "Core/Registration/Terms/ImageTerm.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/Checks/TermChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/BSplineChains.h"

namespace tessera {
namespace {

using namespace testing;

constexpr const char* fewMayCount = "(RequiredRatioOfValidSamples 0.05)\n";

template <int D, class Formula>
TermEvaluation evaluate(const TermLevel<D>& level, const SampleSet<D>& samples, const std::string& text = "")
{
  const Parameters parameters = parametersOf(fewMayCount + text, D, 1, "Metric0");
  ImageTerm<D> term(parameters, makeMetric<Formula>(parameters));
  Context context{{}, 2};
  term.prepareForLevel(context, level);
  TermEvaluation result{{}, std::vector<double>(level.chain->parameters.size(), 1e30)};
  result.term = term.evaluate(context, samples, level.chain->parameters, result.gradient);
  return result;
}

double distance(const std::vector<double>& a, const std::vector<double>& b)
{
  return checks::norm(checks::moved(a, -1, b));
}

/// The field comes in float: displacements of a few mm to 1e-7 of them, intensities that change by 50 a mm
/// and more to 1e-5 of a hundred; and a slope of a histogram, or of a linear interpolation next to a voxel's
/// plane, may belong to the next piece.
constexpr double valueTolerance = 1e-6, gradientTolerance = 1e-4;

/// By tiles against point by point.
template <int D, class Formula>
void expectTheSameByPoints(const TermScene<D>& scene, const SampleSet<D>& samples, const std::string& what,
                           const std::string& text = "")
{
  TermLevel<D> level = scene.level;
  const TermEvaluation byPoints = evaluate<D, Formula>(level, samples, text);
  level.registry = &allComponents();
  ASSERT_NE(FieldOfLattice<D>(level, DeviceKind::cpu).at(samples), nullptr) << what;

  const TermEvaluation dense = evaluate<D, Formula>(level, samples, text);

  EXPECT_EQ(dense.term.asked, byPoints.term.asked) << what;
  EXPECT_EQ(dense.term.valid, byPoints.term.valid) << what;
  EXPECT_NEAR(dense.term.value, byPoints.term.value, valueTolerance * std::abs(byPoints.term.value)) << what;
  EXPECT_GT(checks::norm(byPoints.gradient), 0) << what;
  EXPECT_LT(distance(dense.gradient, byPoints.gradient), gradientTolerance * checks::norm(byPoints.gradient))
      << what;
}

template <int D>
void useMasks(TermScene<D>& scene)
{
  Vec<D> semiAxesMm;
  semiAxesMm.fill(15);
  const auto ball = [&](const Vec<D>& p) {
    return Ellipsoid<D>{scene.fixed->geometry.centerMm(), semiAxesMm}(p) > 0;
  };
  scene.level.fixedMask = std::make_shared<Mask<D>>(drawMask<D>(scene.fixed->geometry, ball));
  scene.level.movingMask = std::make_shared<Mask<D>>(drawMask<D>(scene.moving->geometry, ball));
}

template <class Formula>
class DenseImageTermTest : public ::testing::Test {
};
using Formulas =
    ::testing::Types<AdvancedMeanSquares, AdvancedNormalizedCorrelation, AdvancedMattesMutualInformation,
                     NormalizedMutualInformation, LocalNormalizedCorrelation>;
TYPED_TEST_SUITE(DenseImageTermTest, Formulas);

TYPED_TEST(DenseImageTermTest, AgreesWithPointsForSingleTransforms)
{
  for (const int order : {1, 3}) {
    TermScene<3> scene(order, {27, 21, 17});
    scene.useBSpline();
    expectTheSameByPoints<3, TypeParam>(scene, scene.lattice(1), "3D, order " + std::to_string(order));
    TermScene<2> flat(order, {41, 37});
    flat.useBSpline();
    expectTheSameByPoints<2, TypeParam>(flat, flat.lattice(1), "2D, order " + std::to_string(order));
  }
}

TYPED_TEST(DenseImageTermTest, AgreesWithPointsInMasksAndBoxes)
{
  TermScene<3> scene(1, {27, 21, 17});
  scene.useBSpline();
  for (double& parameter : scene.chain->parameters)
    parameter += 6; // mm: a good part leaves the image
  expectTheSameByPoints<3, TypeParam>(scene, scene.lattice(1), "partly outside");
  VoxelLattice<3> box{scene.fixed, nullptr, {3, 2, 5}, {1, 1, 1}, {20, 17, 9}};
  expectTheSameByPoints<3, TypeParam>(scene, box, "a box");
  useMasks(scene);
  expectTheSameByPoints<3, TypeParam>(scene, scene.lattice(1), "in masks");
  box.mask = scene.level.fixedMask;
  expectTheSameByPoints<3, TypeParam>(scene, box, "a box in masks");
}

TYPED_TEST(DenseImageTermTest, AgreesWithPointsWhereTheFieldIsAddedToAnotherTransform)
{
  TermScene<3> scene(1, {27, 21, 17});
  scene.useAffine();
  scene.useAsInitial(Combination::add);
  scene.useBSpline();
  expectTheSameByPoints<3, TypeParam>(scene, scene.lattice(1), "added to affine");
  scene.useAsInitial(Combination::add);
  scene.useBSpline();
  expectTheSameByPoints<3, TypeParam>(scene, scene.lattice(1), "added to B-spline added to affine");
}

TYPED_TEST(DenseImageTermTest, GradientMatchesFiniteDifferences)
{
  for (const bool masked : {false, true}) {
    TermScene<3> scene(3, {27, 21, 17});
    if (masked)
      useMasks(scene);
    scene.useAffine();
    scene.useAsInitial(Combination::add);
    scene.useBSpline();
    scene.level.registry = &allComponents();
    const Parameters parameters = parametersOf(fewMayCount, 3, 1, "Metric0");
    ImageTerm<3> term(parameters, makeMetric<TypeParam>(parameters));
    term.prepareForLevel(host, scene.level);

    // float displacements and intensities: 1e-7 / step; samples that leave a mask inside the step
    expectGradientMatchesFiniteDifferences<3>(term, scene.lattice(1), scene.chain->parameters, 3e-3,
                                              masked ? 0.05 : 5e-3);
  }
}

TYPED_TEST(DenseImageTermTest, RepeatsItsBitsForAnyThreadCount)
{
  TermScene<3> scene(1, {27, 21, 17});
  scene.useBSpline();
  scene.level.registry = &allComponents();
  for (const bool masked : {false, true}) {
    if (masked)
      useMasks(scene);
    const Parameters parameters = parametersOf(fewMayCount, 3, 1, "Metric0");
    ImageTerm<3> term(parameters, makeMetric<TypeParam>(parameters));
    term.prepareForLevel(host, scene.level);

    expectSameBitsForAnyThreadCount<3>(term, scene.lattice(1), scene.chain->parameters);
  }
}

/// A level at the identity whose images lie on one grid: every sample is a voxel of the moving image.
template <int D>
TermScene<D> sceneOfOneGrid(const Size<D>& size)
{
  TermScene<D> scene(1, size);
  auto moving = std::make_shared<Image<D>>(*scene.moving);
  moving->geometry = scene.fixed->geometry;
  scene.moving = scene.level.moving = moving;
  scene.interpolator->prepareForLevel(host, scene.moving, 0);
  scene.useBSpline();
  std::ranges::fill(scene.chain->parameters, 0.0);
  return scene;
}

TEST(DenseImageTermPlanesTest, SamplesOnVoxelPlanesHaveTheSlopesOfTheSideThatPointsHave)
{
  const auto scene = sceneOfOneGrid<3>({27, 21, 17});
  expectTheSameByPoints<3, AdvancedMeanSquares>(scene, scene.lattice(1), "3D");
  const auto flat = sceneOfOneGrid<2>({41, 37});
  expectTheSameByPoints<2, AdvancedMeanSquares>(flat, flat.lattice(1), "2D");
}

TEST(DenseImageTermPlanesTest, VoxelsBesideTheGridStayWhereTheyAre)
{
  for (int order = 1; order <= 3; ++order) {
    TermScene<3> scene(1, {27, 21, 17});
    const BSplineGrid<3> grid = gridAcross<3>(scene.fixed->geometry, {4.3, 5, 3.7}, order, {11.3, -8.1, 9.7});
    *scene.chain = randomBSplineChain<3>(grid, 1.5);
    expectTheSameByPoints<3, NormalizedMutualInformation>(scene, scene.lattice(1),
                                                          "order " + std::to_string(order));
  }
}

TEST(DenseImageTermPlanesTest, AFarAwayOriginCostsNoAccuracy)
{
  TermEvaluation near;
  for (const double originMm : {0.0, 1e6}) {
    TermScene<3> scene(1, {27, 21, 17});
    const auto movedAway = [&](const ImagePointer<3>& image) {
      auto moved = std::make_shared<Image<3>>(*image);
      for (double& origin : moved->geometry.originMm)
        origin += originMm;
      return moved;
    };
    scene.fixed = scene.level.fixed = movedAway(scene.fixed);
    scene.moving = scene.level.moving = movedAway(scene.moving);
    scene.interpolator->prepareForLevel(host, scene.moving, 0);
    scene.useBSpline();
    scene.level.registry = &allComponents();

    const TermEvaluation found = evaluate<3, AdvancedMeanSquares>(scene.level, scene.lattice(1));

    if (originMm == 0) {
      near = found;
      continue;
    }
    EXPECT_EQ(found.term.valid, near.term.valid);
    EXPECT_NEAR(found.term.value, near.term.value, valueTolerance * near.term.value);
    EXPECT_LT(distance(found.gradient, near.gradient), gradientTolerance * checks::norm(near.gradient));
  }
}

TEST(DenseImageTermPlanesTest, ScalesOfTheMovingGradientAreThoseOfPoints)
{
  TermScene<3> scene(1, {27, 21, 17});
  scene.useBSpline();
  expectTheSameByPoints<3, AdvancedMeanSquares>(
      scene, scene.lattice(1), "scales",
      "(MovingImageDerivativeScales 1 0 2)\n(ScaleGradientWithRespectToMovingImageOrientation \"true\")");
}

TEST(DenseImageTermPlanesTest, IntensitiesThatAreNoNumbersAreLeftOut)
{
  TermScene<3> scene(1, {27, 21, 17});
  scene.useBSpline();
  auto fixed = std::make_shared<Image<3>>(*scene.fixed), moving = std::make_shared<Image<3>>(*scene.moving);
  fixed->voxels[4000] = moving->voxels[3000] = std::numeric_limits<float>::quiet_NaN();
  scene.fixed = scene.level.fixed = fixed;
  scene.moving = scene.level.moving = moving;
  scene.interpolator->prepareForLevel(host, scene.moving, 0);

  expectTheSameByPoints<3, AdvancedMeanSquares>(scene, scene.lattice(1), "NaN");
}

/// A level with everything that a lattice can have, and its term by slabs of at most `bytes`.
template <class Formula>
TermEvaluation inSlabs(const TermScene<3>& scene, const SampleSet<3>& samples, std::size_t bytes)
{
  const Parameters parameters = parametersOf("", 3, 1, "Metric0");
  MetricOf<Formula> metric(parameters);
  metric.prepareForLevel(0, {0, 300, 0, 300});
  FieldOfLattice<3> fields(scene.level, DeviceKind::cpu);
  DenseImageTerm<3> term(scene.level, {}, metric, bytes);
  const DenseImageTerm<3>::Target target{std::get<VoxelLattice<3>>(samples), fields.at(samples),
                                         scene.chain->parameters};
  Context context{{}, 2};
  TermEvaluation result{{}, std::vector<double>(scene.chain->parameters.size(), 1e30)};
  const SampleCount count = term.accumulate(context, target, true);
  result.term = {metric.finish(count.valid), count.valid, count.asked};
  term.pullBack(context, target, result.gradient);
  return result;
}

/// Adds the scene's B-spline to another, whose points are kept.
void addToAnother(TermScene<3>& scene)
{
  scene.useAsInitial(Combination::add);
  scene.useBSpline();
}

TEST(DenseImageTermSlabsTest, SlabsGiveWhatTheWholeDoes)
{
  for (const bool masked : {false, true}) {
    TermScene<3> scene(1, {27, 21, 17});
    if (masked)
      useMasks(scene);
    scene.useBSpline();
    if (masked)
      addToAnother(scene);
    scene.level.registry = &allComponents();
    const SampleSet<3> samples = scene.lattice(1);
    // it keeps the points of the start, which the slabs evaluate anew
    const TermEvaluation whole = inSlabs<NormalizedMutualInformation>(scene, samples, std::size_t(1) << 30);
    for (const std::size_t slices : {1, 2, 3, 5, 16}) {
      const TermEvaluation slabs =
          inSlabs<NormalizedMutualInformation>(scene, samples, slices * 27 * 21 * 16);
      EXPECT_EQ(slabs.term.value, whole.term.value) << slices << " slices: counts are whole numbers";
      EXPECT_EQ(slabs.term.valid, whole.term.valid) << slices;
      EXPECT_EQ(slabs.term.asked, whole.term.asked) << slices;
      EXPECT_LT(distance(slabs.gradient, whole.gradient), 1e-12 * checks::norm(whole.gradient))
          << slices << " slices: sums in double";
    }
  }
}

TEST(DenseImageTermSlabsTest, ASmallerSlabMayHaveMoreAccumulators)
{
  constexpr std::size_t perSlice = 16 * 16, first = 37, second = 36;
  ASSERT_LT(planStripes(first * perSlice, 1).stripes, planStripes(second * perSlice, 1).stripes);
  TermScene<3> scene(1, {16, 16, first + second});
  scene.useBSpline();
  scene.level.registry = &allComponents();
  const SampleSet<3> samples = scene.lattice(1);

  const TermEvaluation slabs = inSlabs<NormalizedMutualInformation>(scene, samples, first * perSlice * 16);

  EXPECT_EQ(slabs.term.value,
            inSlabs<NormalizedMutualInformation>(scene, samples, std::size_t(1) << 30).term.value);
}

TEST(DenseImageTermSlabsTest, AnEvaluationOfAnotherLatticeChangesNothing)
{
  TermScene<3> scene(1, {27, 21, 17});
  useMasks(scene);
  scene.useBSpline();
  addToAnother(scene);
  scene.level.registry = &allComponents();
  const Parameters parameters = parametersOf(fewMayCount, 3, 1, "Metric0");
  ImageTerm<3> term(parameters, std::make_unique<MetricOf<NormalizedMutualInformation>>(parameters));
  term.prepareForLevel(host, scene.level);
  const auto gradientOver = [&](const SampleSet<3>& samples) {
    return gradientOf<3>(term, samples, scene.chain->parameters);
  };
  const SampleSet<3> box = VoxelLattice<3>{scene.fixed, nullptr, {3, 2, 5}, {1, 1, 1}, {20, 17, 9}};

  const std::vector<double> first = gradientOver(scene.lattice(1));

  EXPECT_NE(gradientOver(box), first);
  EXPECT_EQ(gradientOver(scene.lattice(1)), first);
}

TEST(DenseImageTermMethodsTest, AFieldInterpolatorWithoutACpuIsRefused)
{
  TermScene<3> scene(1, {27, 21, 17});
  scene.use(std::make_shared<BSplineTransform<3>>(parametersOf(
                "(FinalGridSpacingInVoxels 5)\n(FieldInterpolator \"TextureHardware\")", 3, 1, "Transform0")),
            1.5);
  scene.level.registry = &allComponents();

  const std::string message =
      messageOf([&] { evaluate<3, AdvancedMeanSquares>(scene.level, scene.lattice(1)); });

  EXPECT_EQ(message.find("(FieldInterpolator \"TextureHardware\"): it does not run on the CPU. Allowed: "),
            0u)
      << message;
}

TEST(DenseImageTermMethodsTest, LatticesThatAreNoBoxAndComposedChainsGoByPoints)
{
  TermScene<3> scene(1, {27, 21, 17});
  scene.useAffine();
  scene.level.registry = &allComponents();
  const auto found = [&](const SampleSet<3>& samples) {
    return FieldOfLattice<3>(scene.level, DeviceKind::cpu).at(samples) != nullptr;
  };
  EXPECT_FALSE(found(scene.lattice(1))) << "no B-spline";
  scene.useBSpline();
  EXPECT_TRUE(found(scene.lattice(1)));
  EXPECT_FALSE(found(scene.lattice(2))) << "every second voxel";
  EXPECT_FALSE(found(scene.points(100))) << "points";
  scene.useAsInitial(Combination::compose);
  scene.useBSpline();
  EXPECT_FALSE(found(scene.lattice(1))) << "composed";
}

}
}
