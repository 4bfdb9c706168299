// needs: GPU
#include "Components/Metrics/AdvancedMattesMutualInformation.h"
#include "Components/Metrics/CorrespondingPointsEuclideanDistanceMetric.h"
#include "Components/Metrics/DisplacementMagnitudePenalty.h"
#include "Components/Metrics/MattesMutualInformationWithRigidityPenalty.h"
#include "Components/Metrics/TransformBendingEnergyPenalty.h"
#include "Components/Metrics/TransformFoldingPenalty.h"
#include "Components/Metrics/TransformRigidityPenalty.h"
#include "Components/Transforms/Shared/OnCuda/HeldChainOnCuda.h"
#include "Core/Image/Files/ImageFile.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/ModelScenes.h"

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

/// The CPU's results; the same bits again, and without a gradient. `tolerance` is a share of the gradient's
/// norm.
template <class Term, int D>
void expectTheCpusResults(const TermScene<D>& scene, const SampleSet<D>& samples, double tolerance,
                          const std::string& what, const std::string& more = "")
{
  const Context onCuda = makeContext({DeviceKind::cuda, 0}, 1);
  const TermEvaluation cpu = evaluateOn<Term, D>(Context{}, scene, samples, true, more);

  const TermEvaluation cuda = evaluateOn<Term, D>(onCuda, scene, samples, true, more);

  EXPECT_EQ(cuda.term.asked, cpu.term.asked) << what;
  EXPECT_EQ(cuda.term.valid, cpu.term.valid) << what;
  EXPECT_NEAR(cuda.term.value, cpu.term.value, 1e-9 * cpu.term.value) << what << ": all in double";
  double difference2 = 0, norm2 = 0;
  ASSERT_EQ(cuda.gradient.size(), cpu.gradient.size()) << what;
  for (std::size_t i = 0; i < cpu.gradient.size(); ++i) {
    difference2 += (cuda.gradient[i] - cpu.gradient[i]) * (cuda.gradient[i] - cpu.gradient[i]);
    norm2 += cpu.gradient[i] * cpu.gradient[i];
  }
  EXPECT_LE(std::sqrt(difference2), tolerance * std::sqrt(norm2)) << what;
  const TermEvaluation again = evaluateOn<Term, D>(onCuda, scene, samples, true, more);
  EXPECT_EQ(again.gradient, cuda.gradient) << what << ": not the same bits again";
  EXPECT_EQ(again.term.value, cuda.term.value) << what << ": not the same bits again";
  EXPECT_EQ((evaluateOn<Term, D>(onCuda, scene, samples, false, more).term.value), cuda.term.value)
      << what << ": value alone";
}

/// Doubles throughout; sums have units of about n 2^-56 of the largest covector, n samples: below 1e-11 of a
/// gradient that thousands share.
constexpr double bendingTolerance = 1e-9;
/// Covectors are floats of 24 bits, whose roundings do not add up.
constexpr double pointsTolerance = 1e-6;

template <int D>
void expectTheCpusBending(const TermScene<D>& scene, const std::string& what)
{
  // Some points lie outside the image and the grid; counts are not multiples of a block.
  using Term = TransformBendingEnergyPenalty<D>;
  expectTheCpusResults<Term, D>(scene, scene.points(2049, -0.1), bendingTolerance, what + ", points");
  expectTheCpusResults<Term, D>(scene, scene.points(1), bendingTolerance, what + ", one point");
  expectTheCpusResults<Term, D>(scene, scene.lattice(1), bendingTolerance, what + ", every voxel");
  expectTheCpusResults<Term, D>(scene, scene.lattice(3), bendingTolerance, what + ", every third voxel");
}

TEST(PenaltiesOnCudaTest, BendingEnergyAgreesWithTheCpuInAllChains)
{
  TESSERA_NEEDS_GPU();
  forEachBendingScene<2>(expectTheCpusBending<2>);
  forEachBendingScene<3>(expectTheCpusBending<3>);
}

TEST(PenaltiesOnCudaTest, BendingEnergyAgreesWithTheCpuThroughSplinesAndFields)
{
  TESSERA_NEEDS_GPU();
  forEachModelScene<2>(false, expectTheCpusBending<2>);
  forEachModelScene<3>(false, expectTheCpusBending<3>);
}

TEST(PenaltiesOnCudaTest, FieldsThatJumpHaveNoBendingEnergy)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(1, {27, 22, 17});
  useField<3>(scene, 0);
  scene.useAsInitial(Combination::compose);
  useBSpline<3>(scene, 3, false);
  const auto errorOn = [&](const Context& context) {
    return messageOf(
        [&] { evaluateOn<TransformBendingEnergyPenalty<3>, 3>(context, scene, scene.points(10)); });
  };

  const std::string onCpu = errorOn(Context{});

  EXPECT_NE(onCpu.find("DeformationFieldInterpolationOrder 1"), std::string::npos) << onCpu;
  EXPECT_EQ(errorOn(makeContext({DeviceKind::cuda, 0}, 1)), onCpu);
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
  expectTheCpusResults<Term, D>(scene, scene.points(2049, -0.1), bendingTolerance,
                                "in the moving mask, points");
  expectTheCpusResults<Term, D>(scene, scene.lattice(1), bendingTolerance, "in both masks, every voxel");
}

TEST(PenaltiesOnCudaTest, BendingEnergyAgreesWithTheCpuInMasks)
{
  TESSERA_NEEDS_GPU();
  expectTheCpusBendingInMasks<2>({41, 36});
  expectTheCpusBendingInMasks<3>({27, 22, 17});
}

TEST(PenaltiesOnCudaTest, BendingEnergyOfManySamplesAgreesWithTheCpu)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> runs(1, {61, 47, 43}); // warps of several samples
  runs.useAffine();
  runs.useAsInitial(Combination::compose); // a B-spline alone would have a closed form
  useBSpline<3>(runs, 3, false);
  expectTheCpusResults<TransformBendingEnergyPenalty<3>, 3>(runs, runs.lattice(1), bendingTolerance, "runs");

  TermScene<2> chunks(1, {1049, 1003}); // more than 2^20
  chunks.useAffine();
  chunks.useAsInitial(Combination::compose);
  useBSpline<2>(chunks, 3, false);
  expectTheCpusResults<TransformBendingEnergyPenalty<2>, 2>(chunks, chunks.lattice(1), bendingTolerance,
                                                            "chunks");
  chunks.useAsInitial(Combination::compose);
  chunks.useAffine();
  expectTheCpusResults<TransformBendingEnergyPenalty<2>, 2>(chunks, chunks.lattice(1), bendingTolerance,
                                                            "affine, chunks");
}

TEST(PenaltiesOnCudaTest, BendingEnergyReusesItsArraysFromEvaluationToEvaluation)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(1, {27, 22, 17});
  useBSpline<3>(scene, 3, false);
  Context context = makeContext({DeviceKind::cuda, 0}, 1);
  TransformBendingEnergyPenalty<3> penalty(parametersOf(penaltyParameters, 3, 1, "Metric0"));
  penalty.prepareForLevel(context, scene.level);
  Buffer<double> position, gradient(context, scene.chain->parameters.size());
  position.fromHost(context, scene.chain->parameters);

  for (const SampleSet<3>& samples :
       {scene.points(300), scene.lattice(2), scene.points(70), scene.points(300)}) {
    const double value =
        penalty.evaluate(context, samples, std::as_const(position).span(), gradient.span()).value;

    const TermEvaluation alone = evaluateOn<TransformBendingEnergyPenalty<3>, 3>(context, scene, samples);
    EXPECT_EQ(value, alone.term.value);
    EXPECT_EQ(gradient.toHost(context), alone.gradient);
  }
}

TEST(PenaltiesOnCudaTest, LinearTransformsDoNotBend)
{
  TESSERA_NEEDS_GPU();
  TermScene<2> scene(1, {41, 36});
  scene.useAffine();
  const TermEvaluation found = evaluateOn<TransformBendingEnergyPenalty<2>, 2>(
      makeContext({DeviceKind::cuda, 0}, 1), scene, scene.points(100));

  EXPECT_EQ(found.term.value, 0);
  EXPECT_EQ(found.gradient, std::vector<double>(6, 0.0));
}

TEST(PenaltiesOnCudaTest, AFlatTransformHasNoBendingEnergyAndNoGradient)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(1, {27, 22, 17});
  useBSpline<3>(scene, 3, false, 0);
  const TermEvaluation found = evaluateOn<TransformBendingEnergyPenalty<3>, 3>(
      makeContext({DeviceKind::cuda, 0}, 1), scene, scene.points(100));

  EXPECT_EQ(found.term.value, 0);
  EXPECT_EQ(found.gradient, std::vector<double>(scene.chain->parameters.size(), 0.0));
}

TEST(PenaltiesOnCudaTest, TooFewValidSamplesAreTheSameErrorAsOnTheCpu)
{
  TESSERA_NEEDS_GPU();
  TermScene<2> scene(1, {41, 36});
  useBSpline<2>(scene, 3, false);
  scene.level.movingMask =
      std::make_shared<Mask<2>>(drawMask<2>(scene.moving->geometry, [](const Vec<2>&) { return true; }));
  for (double& parameter : scene.chain->parameters)
    parameter += 500; // mm
  const auto errorOn = [&](const Context& context) {
    return messageOf(
        [&] { evaluateOn<TransformBendingEnergyPenalty<2>, 2>(context, scene, scene.points(400)); });
  };

  const std::string onCpu = errorOn(Context{});

  EXPECT_NE(onCpu.find("0 of 400 samples"), std::string::npos) << onCpu;
  EXPECT_EQ(errorOn(makeContext({DeviceKind::cuda, 0}, 1)), onCpu);
}

template <int D>
void expectTheCpusFolding(const TermScene<D>& scene, const std::string& what)
{
  using Term = TransformFoldingPenalty<D>;
  expectTheCpusResults<Term, D>(scene, scene.points(2049, -0.1), bendingTolerance, what + ", points");
  expectTheCpusResults<Term, D>(scene, scene.points(1), bendingTolerance, what + ", one point");
  expectTheCpusResults<Term, D>(scene, scene.lattice(1), bendingTolerance, what + ", every third voxel");
}

TEST(PenaltiesOnCudaTest, FoldingPenaltyAgreesWithTheCpuInAllChains)
{
  TESSERA_NEEDS_GPU();
  forEachBendingScene<2>(expectTheCpusFolding<2>);
  forEachBendingScene<3>(expectTheCpusFolding<3>);
  forEachModelScene<2>(false, expectTheCpusFolding<2>);
  forEachModelScene<3>(false, expectTheCpusFolding<3>);
}

TEST(PenaltiesOnCudaTest, FoldingPenaltyAgreesWithTheCpuInMasksAndChunks)
{
  TESSERA_NEEDS_GPU();
  TermScene<2> scene(1, {3307, 3201}); // every third voxel: more than 2^20 samples
  const Vec<2> centerMm = scene.fixed->geometry.centerMm();
  scene.level.fixedMask = std::make_shared<Mask<2>>(
      drawMask<2>(scene.fixed->geometry, [&](const Vec<2>& p) { return p[0] > centerMm[0] - 900; }));
  scene.level.movingMask = std::make_shared<Mask<2>>(
      drawMask<2>(scene.moving->geometry, [&](const Vec<2>& p) { return p[1] < centerMm[1] + 900; }));
  useBSpline<2>(scene, 3, false, 40); // with folds
  expectTheCpusFolding<2>(scene, "folded");
}

template <int D>
void expectTheCpusDisplacements(const TermScene<D>& scene, const std::string& what)
{
  using Term = DisplacementMagnitudePenalty<D>;
  expectTheCpusResults<Term, D>(scene, scene.points(2049, -0.1), pointsTolerance, what + ", points");
  expectTheCpusResults<Term, D>(scene, scene.points(1), pointsTolerance, what + ", one point");
  expectTheCpusResults<Term, D>(scene, scene.lattice(1), pointsTolerance, what + ", every voxel");
  expectTheCpusResults<Term, D>(scene, scene.lattice(3), pointsTolerance, what + ", every third voxel");
}

TEST(PenaltiesOnCudaTest, DisplacementMagnitudesAgreeWithTheCpuInAllChains)
{
  TESSERA_NEEDS_GPU();
  forEachBendingScene<2>(expectTheCpusDisplacements<2>);
  forEachBendingScene<3>(expectTheCpusDisplacements<3>);
  forEachModelScene<2>(true, expectTheCpusDisplacements<2>);
  forEachModelScene<3>(true, expectTheCpusDisplacements<3>);
}

TEST(PenaltiesOnCudaTest, DisplacementMagnitudesAgreeWithTheCpuInMasksAndChunks)
{
  TESSERA_NEEDS_GPU();
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
  expectTheCpusResults<Penalty, D>(scene, PointList<D>{}, bendingTolerance, "all rigid");
  const TemporaryFolder folder;
  const std::string image = rigidityImageOf<D>(scene, folder);
  expectTheCpusResults<Penalty, D>(scene, PointList<D>{}, bendingTolerance, "a moving image", image);
  scene.useAsInitial(Combination::compose);
  useBSpline<D>(scene, 3, false);
  expectTheCpusResults<Penalty, D>(scene, PointList<D>{}, bendingTolerance, "after another B-spline", image);
}

TEST(PenaltiesOnCudaTest, RigidityPenaltyAgreesWithTheCpu)
{
  TESSERA_NEEDS_GPU();
  expectTheCpusRigidity<2>({41, 36});
  expectTheCpusRigidity<2>({900, 811}); // several blocks of control points
  expectTheCpusRigidity<3>({27, 22, 17});
  expectTheCpusRigidity<3>({70, 66, 55});
}

TEST(PenaltiesOnCudaTest, RigidityPenaltyShowsTheCpusColumns)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(1, {27, 22, 17});
  useBSpline<3>(scene, 3, false);
  const auto columnsOn = [&](const Context& context) {
    TransformRigidityPenalty<3> penalty(parametersOf("(LinearityConditionWeight 50)", 3, 1, "Metric0"));
    evaluateTerm<3>(context, penalty, scene, PointList<3>{});
    return penalty.columns();
  };

  const auto cpu = columnsOn(Context{}), cuda = columnsOn(makeContext({DeviceKind::cuda, 0}, 1));

  for (std::size_t c = 0; c < cpu.size(); ++c) {
    EXPECT_GT(cpu[c].value, 0) << cpu[c].name;
    EXPECT_NEAR(cuda[c].value, cpu[c].value, 1e-9 * cpu[c].value) << cpu[c].name;
  }
}

/// Of terms on CUDA, where mutual information has other roundings than on the CPU.
template <int D>
void expectTheWeightedSumOnCuda(const Size<D>& size)
{
  TermScene<D> scene(1, size);
  useBSpline<D>(scene, 3, false);
  const TemporaryFolder folder;
  const Parameters parameters =
      parametersOf(penaltyParameters + "(RigidityPenaltyWeight 0.25)\n" + rigidityImageOf<D>(scene, folder),
                   D, 1, "Metric0");
  Context onCuda = makeContext({DeviceKind::cuda, 0}, 1);
  scene.interpolator->prepareForLevel(onCuda, scene.moving, 0);
  const auto evaluated = [&](CostTerm<D>&& term) {
    return evaluateTerm<D>(onCuda, term, scene, scene.points(700));
  };
  const TermEvaluation information =
      evaluated(ImageTerm<D>(parameters, makeMetric<AdvancedMattesMutualInformation>(parameters)));
  const TermEvaluation penalty = evaluated(TransformRigidityPenalty<D>(parameters));

  const TermEvaluation both = evaluated(MattesMutualInformationWithRigidityPenalty<D>(parameters));

  ASSERT_GT(penalty.term.value, 0);
  EXPECT_EQ(both.term.value, information.term.value + 0.25 * penalty.term.value);
  EXPECT_EQ(both.term.valid, information.term.valid);
  for (std::size_t i = 0; i < both.gradient.size(); ++i)
    EXPECT_DOUBLE_EQ(both.gradient[i], information.gradient[i] + 0.25 * penalty.gradient[i]);
}

TEST(PenaltiesOnCudaTest, MutualInformationWithRigidityPenaltyIsTheSumOfBoth)
{
  TESSERA_NEEDS_GPU();
  expectTheWeightedSumOnCuda<2>({41, 36});
  expectTheWeightedSumOnCuda<3>({27, 22, 17});
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
    expectTheCpusResults<Term, D>(scene, PointList<D>{}, pointsTolerance, of);
    if (count == 33)
      expectTheCpusResults<Term, D>(scene, PointList<D>{}, pointsTolerance, of + " known to 2 mm",
                                    "(PointErrorInMm 2)\n");
    scene.level.movingMask =
        std::make_shared<Mask<D>>(drawMask<D>(scene.moving->geometry, [](const Vec<D>&) { return true; }));
    expectTheCpusResults<Term, D>(scene, PointList<D>{}, pointsTolerance, of + " in a mask");
    scene.level.movingMask = nullptr;
  }
  scene.level.points = nullptr;
}

TEST(PenaltiesOnCudaTest, DistancesOfCorrespondingPointsAgreeWithTheCpuInAllChains)
{
  TESSERA_NEEDS_GPU();
  forEachBendingScene<2>(expectTheCpusDistances<2>);
  forEachBendingScene<3>(expectTheCpusDistances<3>);
  forEachModelScene<2>(true, expectTheCpusDistances<2>);
  forEachModelScene<3>(true, expectTheCpusDistances<3>);
}

TEST(PenaltiesOnCudaTest, PairsThatCoincideHaveNoSlope)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(1, {27, 22, 17});
  useBSpline<3>(scene, 3, false, 0);
  PointPairs<3> pairs = pairsOf<3>(scene, 10);
  pairs.movingMm = pairs.fixedMm;
  scene.level.points = &pairs;

  const TermEvaluation found = evaluateOn<CorrespondingPointsEuclideanDistanceMetric<3>, 3>(
      makeContext({DeviceKind::cuda, 0}, 1), scene, PointList<3>{});

  EXPECT_EQ(found.term.value, 0);
  EXPECT_EQ(found.term.valid, 10u);
  EXPECT_EQ(found.gradient, std::vector<double>(scene.chain->parameters.size(), 0.0));
}

}
}
