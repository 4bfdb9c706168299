// needs: GPU
#include "Components/Metrics/CorrespondingPointsEuclideanDistanceMetric.h"
#include "Components/Metrics/DisplacementMagnitudePenalty.h"
#include "Components/Metrics/TransformBendingEnergyPenalty.h"
#include "Components/Metrics/TransformFoldingPenalty.h"
#include "Components/Metrics/TransformRigidityPenalty.h"
#include "Testing/Support/OnGpu/TermsOnGpu.h"

#include <utility>

namespace tessera {
namespace {

using namespace testing;

const std::string penaltyParameters = "(RequiredRatioOfValidSamples 0.05)\n(BendingEnergyUnit \"Voxel\")\n"
                                      "(ToleratedVolumeFactor 1.2)\n";

template <class Term, int D>
TermEvaluation evaluateOn(Context context, const TermScene<D>& scene, const SampleSet<D>& samples,
                          bool withGradient = true, const std::string& more = "")
{
  Term term(parametersOf(penaltyParameters + more, D, 1, "Metric0"));
  return evaluateTerm<D>(context, term, scene, samples, withGradient);
}

/// `tolerance` is a share of the gradient's norm. Values are all in double.
template <class Term, int D>
void expectTheCpusPenalty(const TermScene<D>& scene, const SampleSet<D>& samples, double tolerance,
                          const std::string& what, const std::string& more = "")
{
  SCOPED_TRACE(what);
  const auto evaluate = [&](const Context& context, bool withGradient) {
    return evaluateOn<Term, D>(context, scene, samples, withGradient, more);
  };
  expectTheCpusResults(evaluate, {1e-9, tolerance});
}

/// Doubles throughout; sums have units of about n 2^-56 of the largest covector, n samples: below 1e-11 of a
/// gradient that thousands share.
constexpr double bendingTolerance = 1e-9;
/// Covectors are floats of 24 bits, whose roundings do not add up.
constexpr double pointsTolerance = 1e-6;

/// Some points lie outside the image and the grid; counts are not multiples of a block.
template <template <int> class Term, int D>
void expectTheCpusPenalties(const TermScene<D>& scene, double tolerance, const std::string& what)
{
  expectTheCpusPenalty<Term<D>, D>(scene, scene.points(2049, -0.1), tolerance, what + ", points");
  expectTheCpusPenalty<Term<D>, D>(scene, scene.points(1), tolerance, what + ", one point");
  expectTheCpusPenalty<Term<D>, D>(scene, scene.lattice(1), tolerance, what + ", every voxel");
  expectTheCpusPenalty<Term<D>, D>(scene, scene.lattice(3), tolerance, what + ", every third voxel");
}

template <int D>
void expectTheCpusBending(const TermScene<D>& scene, const std::string& what)
{
  expectTheCpusPenalties<TransformBendingEnergyPenalty>(scene, bendingTolerance, what);
}

template <int D>
void expectTheCpusFolding(const TermScene<D>& scene, const std::string& what)
{
  expectTheCpusPenalties<TransformFoldingPenalty>(scene, bendingTolerance, what);
}

template <int D>
void expectTheCpusDisplacements(const TermScene<D>& scene, const std::string& what)
{
  expectTheCpusPenalties<DisplacementMagnitudePenalty>(scene, pointsTolerance, what);
}

using PenaltiesOnCudaTest = testing::GpuTest;

TEST_F(PenaltiesOnCudaTest, BendingEnergyAgreesWithTheCpuInAllChains)
{
  forEachBendingScene<2>(expectTheCpusBending<2>);
  forEachBendingScene<3>(expectTheCpusBending<3>);
}

TEST_F(PenaltiesOnCudaTest, BendingEnergyAgreesWithTheCpuThroughSplinesAndFields)
{
  forEachModelScene<2>(false, expectTheCpusBending<2>);
  forEachModelScene<3>(false, expectTheCpusBending<3>);
}

TEST_F(PenaltiesOnCudaTest, FieldsThatJumpHaveNoBendingEnergy)
{
  TermScene<3> scene(1, {27, 22, 17});
  useField<3>(scene, 0);
  scene.useAsInitial(Combination::compose);
  useBSpline<3>(scene, 3, false);
  const auto evaluate = [&](const Context& context, bool) {
    evaluateOn<TransformBendingEnergyPenalty<3>, 3>(context, scene, scene.points(10));
  };
  expectTheCpusError(evaluate, "DeformationFieldInterpolationOrder 1");
}

template <int D>
void expectTheCpusBendingInMasks(const Size<D>& size)
{
  TermScene<D> scene(1, size);
  const auto halfSpace = [&](const Vec<D>& p) {
    return p[0] + 0.3 * p[1] > scene.fixed->geometry.centerMm()[0];
  };
  scene.level.fixedMask = std::make_shared<Mask<D>>(drawMask<D>(scene.fixed->geometry, halfSpace));
  scene.useAffine();
  scene.useAsInitial(Combination::compose);
  useBSpline<D>(scene, 3, false);
  expectTheCpusBending<D>(scene, "in the fixed mask");
  scene.level.movingMask =
      std::make_shared<Mask<D>>(drawMask<D>(scene.moving->geometry, [&](const Vec<D>& p) {
        return p[D - 1] < scene.fixed->geometry.centerMm()[D - 1];
      }));
  using Term = TransformBendingEnergyPenalty<D>;
  expectTheCpusPenalty<Term, D>(scene, scene.points(2049, -0.1), bendingTolerance,
                                "in the moving mask, points");
  expectTheCpusPenalty<Term, D>(scene, scene.lattice(1), bendingTolerance, "in both masks, every voxel");
}

TEST_F(PenaltiesOnCudaTest, BendingEnergyAgreesWithTheCpuInMasks)
{
  expectTheCpusBendingInMasks<2>({41, 36});
  expectTheCpusBendingInMasks<3>({27, 22, 17});
}

TEST_F(PenaltiesOnCudaTest, BendingEnergyOfManySamplesAgreesWithTheCpu)
{
  TermScene<3> runs(1, {61, 47, 43}); // warps of several samples
  runs.useAffine();
  runs.useAsInitial(Combination::compose); // a B-spline alone would have a closed form
  useBSpline<3>(runs, 3, false);
  expectTheCpusPenalty<TransformBendingEnergyPenalty<3>, 3>(runs, runs.lattice(1), bendingTolerance, "runs");

  TermScene<2> chunks(1, {1049, 1003}); // more than 2^20
  chunks.useAffine();
  chunks.useAsInitial(Combination::compose);
  useBSpline<2>(chunks, 3, false);
  expectTheCpusPenalty<TransformBendingEnergyPenalty<2>, 2>(chunks, chunks.lattice(1), bendingTolerance,
                                                            "chunks");
  chunks.useAsInitial(Combination::compose);
  chunks.useAffine();
  expectTheCpusPenalty<TransformBendingEnergyPenalty<2>, 2>(chunks, chunks.lattice(1), bendingTolerance,
                                                            "affine, chunks");
}

TEST_F(PenaltiesOnCudaTest, BendingEnergyReusesItsArraysFromEvaluationToEvaluation)
{
  TermScene<3> scene(1, {27, 22, 17});
  useBSpline<3>(scene, 3, false);
  TransformBendingEnergyPenalty<3> penalty(parametersOf(penaltyParameters, 3, 1, "Metric0"));
  penalty.prepareForLevel(cuda, scene.level);
  Buffer<double> position, gradient(cuda, scene.chain->parameters.size());
  position.fromHost(cuda, scene.chain->parameters);

  for (const SampleSet<3>& samples :
       {scene.points(300), scene.lattice(2), scene.points(70), scene.points(300)}) {
    const double value =
        penalty.evaluate(cuda, samples, std::as_const(position).span(), gradient.span()).value;

    const TermEvaluation alone = evaluateOn<TransformBendingEnergyPenalty<3>, 3>(cuda, scene, samples);
    EXPECT_EQ(value, alone.term.value);
    EXPECT_EQ(gradient.toHost(cuda), alone.gradient);
  }
}

TEST_F(PenaltiesOnCudaTest, LinearTransformsDoNotBend)
{
  TermScene<2> scene(1, {41, 36});
  scene.useAffine();
  const TermEvaluation found =
      evaluateOn<TransformBendingEnergyPenalty<2>, 2>(cuda, scene, scene.points(100));

  EXPECT_EQ(found.term.value, 0);
  EXPECT_EQ(found.gradient, std::vector<double>(6, 0.0));
}

TEST_F(PenaltiesOnCudaTest, AFlatTransformHasNoBendingEnergyAndNoGradient)
{
  TermScene<3> scene(1, {27, 22, 17});
  useBSpline<3>(scene, 3, false, 0);
  const TermEvaluation found =
      evaluateOn<TransformBendingEnergyPenalty<3>, 3>(cuda, scene, scene.points(100));

  EXPECT_EQ(found.term.value, 0);
  EXPECT_EQ(found.gradient, std::vector<double>(scene.chain->parameters.size(), 0.0));
}

TEST_F(PenaltiesOnCudaTest, TooFewValidSamplesAreTheSameErrorAsOnTheCpu)
{
  TermScene<2> scene(1, {41, 36});
  useBSpline<2>(scene, 3, false);
  scene.level.movingMask =
      std::make_shared<Mask<2>>(drawMask<2>(scene.moving->geometry, [](const Vec<2>&) { return true; }));
  for (double& parameter : scene.chain->parameters)
    parameter += 500; // mm
  const auto evaluate = [&](const Context& context, bool) {
    evaluateOn<TransformBendingEnergyPenalty<2>, 2>(context, scene, scene.points(400));
  };
  expectTheCpusError(evaluate, "0 of 400 samples");
}

TEST_F(PenaltiesOnCudaTest, FoldingPenaltyAgreesWithTheCpuInAllChains)
{
  forEachBendingScene<2>(expectTheCpusFolding<2>);
  forEachBendingScene<3>(expectTheCpusFolding<3>);
  forEachModelScene<2>(false, expectTheCpusFolding<2>);
  forEachModelScene<3>(false, expectTheCpusFolding<3>);
}

TEST_F(PenaltiesOnCudaTest, FoldingPenaltyAgreesWithTheCpuInMasksAndChunks)
{
  TermScene<2> scene(1, {3307, 3201}); // every third voxel: more than 2^20 samples
  const Vec<2> centerMm = scene.fixed->geometry.centerMm();
  scene.level.fixedMask = std::make_shared<Mask<2>>(
      drawMask<2>(scene.fixed->geometry, [&](const Vec<2>& p) { return p[0] > centerMm[0] - 900; }));
  scene.level.movingMask = std::make_shared<Mask<2>>(
      drawMask<2>(scene.moving->geometry, [&](const Vec<2>& p) { return p[1] < centerMm[1] + 900; }));
  useBSpline<2>(scene, 3, false, 40); // with folds
  expectTheCpusFolding<2>(scene, "folded");
}

TEST_F(PenaltiesOnCudaTest, DisplacementMagnitudesAgreeWithTheCpuInAllChains)
{
  forEachBendingScene<2>(expectTheCpusDisplacements<2>);
  forEachBendingScene<3>(expectTheCpusDisplacements<3>);
  forEachModelScene<2>(true, expectTheCpusDisplacements<2>);
  forEachModelScene<3>(true, expectTheCpusDisplacements<3>);
}

TEST_F(PenaltiesOnCudaTest, DisplacementMagnitudesAgreeWithTheCpuInMasksAndChunks)
{
  TermScene<2> chunks(1, {2311, 1907}); // more than 2^22
  const double middleMm = chunks.fixed->geometry.centerMm()[1];
  chunks.level.fixedMask = std::make_shared<Mask<2>>(
      drawMask<2>(chunks.fixed->geometry, [&](const Vec<2>& p) { return p[0] + p[1] > middleMm; }));
  chunks.level.movingMask = std::make_shared<Mask<2>>(
      drawMask<2>(chunks.moving->geometry, [&](const Vec<2>& p) { return p[1] < middleMm + 100; }));
  chunks.useAffine();
  expectTheCpusDisplacements<2>(chunks, "affine");
  chunks.useAsInitial(Combination::compose);
  useBSpline<2>(chunks, 3, false);
  expectTheCpusDisplacements<2>(chunks, "B-spline");
}

/// Parameters of a penalty with a rigidity image of the moving side alone, in whose space the B-spline
/// displaces the control points.
template <int D>
std::string rigidityImageOf(const TermScene<D>& scene, const TemporaryFolder& folder)
{
  const double middleMm = scene.fixed->geometry.centerMm()[0];
  const std::string path = folder / "rigidity.mha";
  writeImage<D>(path, drawImage<D>(scene.moving->geometry, [&](const Vec<D>& p) { return p[0] > middleMm; }),
                PixelType::float32, false);
  return "(MovingRigidityImageName \"" + path + "\")\n(DilationRadiusMultiplier 0.2)";
}

template <int D>
void expectTheCpusRigidity(const Size<D>& size)
{
  using Penalty = TransformRigidityPenalty<D>;
  TermScene<D> scene(1, size);
  useBSpline<D>(scene, 3, false);
  expectTheCpusPenalty<Penalty, D>(scene, PointList<D>{}, bendingTolerance, "all rigid");
  const TemporaryFolder folder;
  const std::string image = rigidityImageOf<D>(scene, folder);
  expectTheCpusPenalty<Penalty, D>(scene, PointList<D>{}, bendingTolerance, "a moving image", image);
  scene.useAsInitial(Combination::compose);
  useBSpline<D>(scene, 3, false);
  expectTheCpusPenalty<Penalty, D>(scene, PointList<D>{}, bendingTolerance, "after another B-spline", image);
}

TEST_F(PenaltiesOnCudaTest, RigidityPenaltyAgreesWithTheCpu)
{
  expectTheCpusRigidity<2>({41, 36});
  expectTheCpusRigidity<2>({900, 811}); // several blocks of control points
  expectTheCpusRigidity<3>({27, 22, 17});
  expectTheCpusRigidity<3>({70, 66, 55});
}

TEST_F(PenaltiesOnCudaTest, RigidityPenaltyShowsTheCpusColumns)
{
  TermScene<3> scene(1, {27, 22, 17});
  useBSpline<3>(scene, 3, false);
  const auto columnsOn = [&](const Context& context) {
    TransformRigidityPenalty<3> penalty(parametersOf("(LinearityConditionWeight 50)", 3, 1, "Metric0"));
    evaluateTerm<3>(context, penalty, scene, PointList<3>{});
    return penalty.columns();
  };

  const auto cpu = columnsOn(Context{}), found = columnsOn(cuda);

  for (std::size_t c = 0; c < cpu.size(); ++c) {
    EXPECT_GT(cpu[c].value, 0) << cpu[c].name;
    EXPECT_NEAR(found[c].value, cpu[c].value, 1e-9 * cpu[c].value) << cpu[c].name;
  }
}

template <int D>
PointPairs<D> pairsOf(const TermScene<D>& scene, std::size_t count)
{
  PointPairs<D> pairs;
  const PointList<D> points = std::get<PointList<D>>(scene.points(count, -0.1));
  const std::vector<double> noise = checks::randomVector(D * count, 11, -4, 4);
  for (std::size_t i = 0; i < count; ++i) {
    Vec<D> fixedMm, movingMm;
    for (int d = 0; d < D; ++d) {
      fixedMm[d] = points.mm[d][i];
      movingMm[d] = fixedMm[d] + noise[i * D + d];
    }
    pairs.fixedMm.push_back(fixedMm);
    pairs.movingMm.push_back(movingMm);
    if (count == 33)
      pairs.weights.push_back(i % 2 == 0 ? 0.4 : 1.6);
  }
  return pairs;
}

template <int D>
void expectTheCpusDistances(TermScene<D>& scene, const std::string& what)
{
  using Term = CorrespondingPointsEuclideanDistanceMetric<D>;
  for (const std::size_t count : {1, 33, 700}) {
    const PointPairs<D> pairs = pairsOf<D>(scene, count);
    const std::string of = what + ", " + std::to_string(count) + " pairs";
    scene.level.points = &pairs;
    expectTheCpusPenalty<Term, D>(scene, PointList<D>{}, pointsTolerance, of);
    if (count == 33)
      expectTheCpusPenalty<Term, D>(scene, PointList<D>{}, pointsTolerance, of + " known to 2 mm",
                                    "(PointErrorInMm 2)\n");
    scene.level.movingMask =
        std::make_shared<Mask<D>>(drawMask<D>(scene.moving->geometry, [](const Vec<D>&) { return true; }));
    expectTheCpusPenalty<Term, D>(scene, PointList<D>{}, pointsTolerance, of + " in a mask");
    scene.level.movingMask = nullptr;
  }
  scene.level.points = nullptr;
}

TEST_F(PenaltiesOnCudaTest, DistancesOfCorrespondingPointsAgreeWithTheCpuInAllChains)
{
  forEachBendingScene<2>(expectTheCpusDistances<2>);
  forEachBendingScene<3>(expectTheCpusDistances<3>);
  forEachModelScene<2>(true, expectTheCpusDistances<2>);
  forEachModelScene<3>(true, expectTheCpusDistances<3>);
}

TEST_F(PenaltiesOnCudaTest, PairsThatCoincideHaveNoSlope)
{
  TermScene<3> scene(1, {27, 22, 17});
  useBSpline<3>(scene, 3, false, 0);
  PointPairs<3> pairs = pairsOf<3>(scene, 10);
  pairs.movingMm = pairs.fixedMm;
  scene.level.points = &pairs;

  const TermEvaluation found =
      evaluateOn<CorrespondingPointsEuclideanDistanceMetric<3>, 3>(cuda, scene, PointList<3>{});

  EXPECT_EQ(found.term.value, 0);
  EXPECT_EQ(found.term.valid, 10u);
  EXPECT_EQ(found.gradient, std::vector<double>(scene.chain->parameters.size(), 0.0));
}

}
}
