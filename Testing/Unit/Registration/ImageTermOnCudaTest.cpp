// needs: GPU
#include "Core/Registration/Terms/ImageTermOnCuda.h"

#include "Components/Metrics/AdvancedMattesMutualInformation.h"
#include "Components/Metrics/AdvancedMeanSquares.h"
#include "Components/Metrics/AdvancedNormalizedCorrelation.h"
#include "Components/Metrics/LocalNormalizedCorrelation.h"
#include "Components/Metrics/NormalizedMutualInformation.h"
#include "Components/Metrics/RobustNormalizedCorrelation.h"
#include "Core/Registration/Terms/ImageTerm.h"
#include "Testing/Support/OnGpu/TermsOnGpu.h"

namespace tessera {
namespace {

using namespace testing;

template <int D, class Formula>
TermEvaluation evaluateOn(Context context, TermScene<D>& scene, const SampleSet<D>& samples,
                          bool withGradient)
{
  const Parameters parameters = parametersOf("(RequiredRatioOfValidSamples 0.05)", D, 1, "Metric0");
  ImageTerm<D> term(parameters, makeMetric<Formula>(parameters));
  scene.interpolator->prepareForLevel(context, scene.moving, 0);
  return evaluateTerm<D>(context, term, scene, samples, withGradient);
}

template <int D, class Formula>
auto termOf(TermScene<D>& scene, const SampleSet<D>& samples)
{
  return [&](const Context& context, bool withGradient) {
    return evaluateOn<D, Formula>(context, scene, samples, withGradient);
  };
}

template <class Formula>
class ImageTermOnCudaTest : public GpuTest {
protected:
  static constexpr bool isOnLattices = std::derived_from<Formula, LatticeMetric>;
  static constexpr double rounding = isOnLattices ? 100 : 1;

  /// Intensities come in float on both devices, and dense fields too on CUDA: 1e-7 of a displacement of some
  /// voxels. `rounding` is how often the metric takes that: windows of little contrast divide by it.
  static constexpr TermTolerance tolerance{rounding * 1e-5, isOnLattices ? 4.6e-2 : 4.6e-3, 1e-3};

  /// All kinds of samples through the scene's chain.
  template <int D>
  static void expectTheCpusTerm(TermScene<D>& scene, const std::string& what)
  {
    SCOPED_TRACE(what);
    forEachKindOfSamples<D>(scene, 3, [&](const SampleSet<D>& samples) {
      if (!isOnLattices || !std::holds_alternative<PointList<D>>(samples))
        expectTheCpusResults(termOf<D, Formula>(scene, samples), tolerance);
    });
  }
};
using Formulas =
    ::testing::Types<AdvancedMeanSquares, AdvancedNormalizedCorrelation, AdvancedMattesMutualInformation,
                     NormalizedMutualInformation, LocalNormalizedCorrelation, RobustNormalizedCorrelation>;
TYPED_TEST_SUITE(ImageTermOnCudaTest, Formulas);

TYPED_TEST(ImageTermOnCudaTest, AgreesWithTheCpuThroughSingleTransforms)
{
  for (const int order : {1, 3}) {
    TermScene<3> scene(order, {27, 20, 18});
    scene.useAffine();
    this->expectTheCpusTerm(scene, "affine, order " + std::to_string(order));
    scene.useBSpline();
    this->expectTheCpusTerm(scene, "B-spline, order " + std::to_string(order));
  }
}

TYPED_TEST(ImageTermOnCudaTest, AgreesWithTheCpuThroughChains)
{
  forEachParametricScene(1,
                         [&](auto& scene, const std::string& what) { this->expectTheCpusTerm(scene, what); });
}

TYPED_TEST(ImageTermOnCudaTest, AgreesWithTheCpuAtTheIdentityOfOneGrid)
{
  TermScene<3> scene(1, {27, 20, 18});
  scene.level.registry = &allComponents();
  scene.moving = std::make_shared<Image<3>>(scene.fixed->geometry, scene.moving->voxels);
  scene.level.moving = scene.moving;
  scene.use(std::make_shared<BSplineTransform<3>>(
                parametersOf("(FinalGridSpacingInPhysicalUnits 12)", 3, 1, "Transform0")),
            0);
  auto inner = std::get<VoxelLattice<3>>(
      scene.lattice(1)); // index 0 may be less by any rounding, and slopes change sign there
  for (int d = 0; d < 3; ++d) {
    inner.first[d] = 1;
    inner.count[d] -= 2;
  }
  const SampleSet<3> samples = inner;
  expectTheCpusResults(termOf<3, TypeParam>(scene, samples), this->tolerance);
}

using MeanSquaresOnCudaTest = ImageTermOnCudaTest<AdvancedMeanSquares>;

TEST_F(MeanSquaresOnCudaTest, AgreesWithTheCpuThroughSplinesAndFields)
{
  forEachModelScene<3>(true, expectTheCpusTerm<3>);
  forEachModelScene<2>(true, expectTheCpusTerm<2>);
}

TEST_F(MeanSquaresOnCudaTest, AnEvaluationTakesTheSplinesParametersOfTheMoment)
{
  TermScene<3> scene(1, {27, 20, 18});
  useSpline<3>(scene, "ThinPlateSpline");
  const Parameters parameters = parametersOf("", 3, 1, "Metric0");
  ImageTerm<3> term(parameters, std::make_unique<MetricOf<AdvancedMeanSquares>>(parameters));
  scene.interpolator->prepareForLevel(cuda, scene.moving, 0);
  term.prepareForLevel(cuda, scene.level);
  Buffer<double> position, gradient(cuda, scene.chain->parameters.size());
  position.fromHost(cuda, scene.chain->parameters);
  const SampleSet<3> samples = scene.lattice(2);
  const auto evaluate = [&] {
    const double value = term.evaluate(cuda, samples, std::as_const(position).span(), gradient.span()).value;
    return std::pair(value, gradient.toHost(cuda));
  };
  const auto first = evaluate();
  EXPECT_EQ(evaluate(), first) << "again";

  scene.chain->parameters =
      checks::moved(scene.chain->parameters, 1, checks::randomVector(gradient.size(), 17));
  position.fromHost(cuda, scene.chain->parameters); // the same memory

  const auto moved = evaluate();
  EXPECT_NE(moved, first);
  const TermEvaluation fresh = evaluateOn<3, AdvancedMeanSquares>(cuda, scene, samples, true);
  EXPECT_EQ(moved.first, fresh.term.value);
  EXPECT_EQ(moved.second, fresh.gradient);
}

TYPED_TEST(ImageTermOnCudaTest, AgreesWithTheCpuInsideMasks)
{
  forEachMaskedScene(1, this->template expectTheCpusTerm<3>);
}

TEST_F(MeanSquaresOnCudaTest, FewSamplesGiveTheSameBitsAfterAnEvaluationOfMore)
{
  TermScene<3> scene(1, {27, 20, 18});
  scene.useBSpline();
  const Parameters parameters = parametersOf("", 3, 1, "Metric0");
  ImageTerm<3> term(parameters, std::make_unique<MetricOf<NormalizedMutualInformation>>(parameters));
  scene.interpolator->prepareForLevel(cuda, scene.moving, 0);
  term.prepareForLevel(cuda, scene.level);
  Buffer<double> position, gradient(cuda, scene.chain->parameters.size());
  position.fromHost(cuda, scene.chain->parameters);
  const auto gradientOver = [&](const SampleSet<3>& samples) {
    term.evaluate(cuda, samples, std::as_const(position).span(), gradient.span());
    return gradient.toHost(cuda);
  };
  const SampleSet<3> few = scene.lattice(3), more = scene.lattice(2);

  const std::vector<double> first = gradientOver(few);

  EXPECT_NE(gradientOver(more), first);
  EXPECT_EQ(gradientOver(few), first);
}

TEST_F(MeanSquaresOnCudaTest, TooFewValidSamplesAreTheSameErrorAsOnTheCpu)
{
  TermScene<3> scene(1, {27, 20, 18});
  scene.useAffine();
  scene.chain->parameters[9] += 1e4; // mm: all leave the image
  expectTheCpusError(termOf<3, AdvancedMeanSquares>(scene, scene.points(500)), "0 of 500 samples");
}

}
}
