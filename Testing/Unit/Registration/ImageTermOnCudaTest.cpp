// needs: GPU
#include "Core/Registration/Terms/ImageTermOnCuda.h"

#include "Components/Metrics/AdvancedMattesMutualInformation.h"
#include "Components/Metrics/AdvancedMeanSquares.h"
#include "Components/Metrics/AdvancedNormalizedCorrelation.h"
#include "Components/Metrics/LocalNormalizedCorrelation.h"
#include "Components/Metrics/NormalizedMutualInformation.h"
#include "Components/Metrics/RobustNormalizedCorrelation.h"
#include "Components/Transforms/EulerTransform.h"
#include "Core/Compute/Error.h"
#include "Core/Registration/Terms/ImageTerm.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/MaskScenes.h"
#include "Testing/Support/Scenes/ModelScenes.h"

#include <functional>

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

double product(const std::vector<double>& a, const std::vector<double>& b)
{
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Intensities come in float on both devices, and dense fields too on CUDA: 1e-7 of a displacement of some
/// voxels.
///
/// `rounding` is how often the metric takes that: windows of little contrast divide by it.
void expectAgreement(const TermEvaluation& cpu, const TermEvaluation& cuda, const std::string& what,
                     double rounding = 1)
{
  EXPECT_EQ(cuda.term.asked, cpu.term.asked) << what;
  EXPECT_NEAR(static_cast<double>(cuda.term.valid), static_cast<double>(cpu.term.valid),
              1e-3 * static_cast<double>(cpu.term.valid))
      << what << ": samples within rounding of the border may differ";
  EXPECT_NEAR(cuda.term.value, cpu.term.value, rounding * 1e-5 * std::abs(cpu.term.value)) << what;
  if (cpu.gradient.empty())
    return;
  const double cosine =
      product(cpu.gradient, cuda.gradient)
      / std::sqrt(product(cpu.gradient, cpu.gradient) * product(cuda.gradient, cuda.gradient));
  EXPECT_GT(cosine, 1 - rounding * 1e-5) << what;
  EXPECT_NEAR(std::sqrt(product(cuda.gradient, cuda.gradient) / product(cpu.gradient, cpu.gradient)), 1,
              std::sqrt(rounding) * 1e-3)
      << what;
}

template <class Formula>
class ImageTermOnCudaTest : public ::testing::Test {
protected:
  static constexpr bool isOnLattices = std::derived_from<Formula, LatticeMetric>;
  static constexpr double rounding = isOnLattices ? 100 : 1;

  /// All kinds of samples through the scene's chain.
  template <int D>
  void expectTheCpusResults(TermScene<D>& scene, const std::string& what)
  {
    scene.level.registry = &allComponents();
    Context cuda = makeContext({DeviceKind::cuda, 0}, 1);
    const std::pair<const char*, SampleSet<D>> sets[] = {{"points", scene.points(2500, 0)},
                                                         {"every voxel", scene.lattice(1)},
                                                         {"every third voxel", scene.lattice(3)}};
    for (const auto& [name, samples] : sets) {
      if (isOnLattices && std::holds_alternative<PointList<D>>(samples))
        continue;
      const std::string of = what + ", " + name;
      const TermEvaluation cpu = evaluateOn<D, Formula>(Context{}, scene, samples, true);
      const TermEvaluation first = evaluateOn<D, Formula>(cuda, scene, samples, true);
      expectAgreement(cpu, first, of, rounding);
      const TermEvaluation again = evaluateOn<D, Formula>(cuda, scene, samples, true);
      EXPECT_EQ(again.gradient, first.gradient) << of << ": not the same bits again";
      const TermEvaluation valueAlone = evaluateOn<D, Formula>(cuda, scene, samples, false);
      EXPECT_EQ(valueAlone.term.value, first.term.value) << of << ": value alone";
    }
  }
};
using Formulas =
    ::testing::Types<AdvancedMeanSquares, AdvancedNormalizedCorrelation, AdvancedMattesMutualInformation,
                     NormalizedMutualInformation, LocalNormalizedCorrelation, RobustNormalizedCorrelation>;
TYPED_TEST_SUITE(ImageTermOnCudaTest, Formulas);

TYPED_TEST(ImageTermOnCudaTest, AgreesWithTheCpuThroughSingleTransforms)
{
  TESSERA_NEEDS_GPU();
  for (const int order : {1, 3}) {
    TermScene<3> scene(order, {27, 20, 18});
    scene.useAffine();
    this->expectTheCpusResults(scene, "affine, order " + std::to_string(order));
    scene.useBSpline();
    this->expectTheCpusResults(scene, "B-spline, order " + std::to_string(order));
  }
}

TYPED_TEST(ImageTermOnCudaTest, AgreesWithTheCpuThroughChains)
{
  TESSERA_NEEDS_GPU();
  for (const Combination combination : {Combination::compose, Combination::add}) {
    const std::string joined = combination == Combination::add ? " added to " : " after ";
    TermScene<3> scene(1, {27, 20, 18});
    scene.useAffine();
    scene.useAsInitial(combination);
    scene.useBSpline();
    this->expectTheCpusResults(scene, "B-spline" + joined + "affine");
    scene.useAsInitial(combination);
    scene.use(std::make_shared<EulerTransform<3>>(parametersOf("", 3, 1, "Transform0")), 0.02);
    this->expectTheCpusResults(scene, "Euler" + joined + "B-spline" + joined + "affine");

    TermScene<2> flat(3, {41, 36});
    flat.useAffine();
    flat.useAsInitial(combination);
    flat.useBSpline();
    this->expectTheCpusResults(flat, "2D B-spline" + joined + "affine");
  }
}

TYPED_TEST(ImageTermOnCudaTest, AgreesWithTheCpuAtTheIdentityOfOneGrid)
{
  TESSERA_NEEDS_GPU();
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
  const TermEvaluation cpu = evaluateOn<3, TypeParam>(Context{}, scene, inner, true);
  expectAgreement(cpu, evaluateOn<3, TypeParam>(makeContext({DeviceKind::cuda, 0}, 1), scene, inner, true),
                  "planes between cells", this->rounding);
}

using MeanSquaresOnCudaTest = ImageTermOnCudaTest<AdvancedMeanSquares>;

TEST_F(MeanSquaresOnCudaTest, AgreesWithTheCpuThroughSplinesAndFields)
{
  TESSERA_NEEDS_GPU();
  forEachModelScene<3>(
      true, [&](TermScene<3>& scene, const std::string& what) { expectTheCpusResults(scene, what); });
  forEachModelScene<2>(
      true, [&](TermScene<2>& scene, const std::string& what) { expectTheCpusResults(scene, what); });
}

TEST_F(MeanSquaresOnCudaTest, AnEvaluationTakesTheSplinesParametersOfTheMoment)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(1, {27, 20, 18});
  useSpline<3>(scene, "ThinPlateSpline");
  Context cuda = makeContext({DeviceKind::cuda, 0}, 1);
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
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(1, {27, 20, 18});
  useMasksOfABall(scene);
  scene.useBSpline();
  this->expectTheCpusResults(scene, "B-spline in masks");
  scene.useAffine();
  this->expectTheCpusResults(scene, "affine in masks");
}

TEST(ImageTermOnCudaMemoryTest, FewSamplesGiveTheSameBitsAfterAnEvaluationOfMore)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(1, {27, 20, 18});
  scene.useBSpline();
  Context cuda = makeContext({DeviceKind::cuda, 0}, 1);
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

TEST(ImageTermOnCudaErrorsTest, TooFewValidSamplesAreTheSameErrorAsOnTheCpu)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(1, {27, 20, 18});
  scene.useAffine();
  scene.chain->parameters[9] += 1e4; // mm: all leave the image
  Context cuda = makeContext({DeviceKind::cuda, 0}, 1);
  const auto errorOn = [&](const Context& context) -> std::string {
    try {
      evaluateOn<3, AdvancedMeanSquares>(context, scene, scene.points(500), true);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  };

  const std::string onCpu = errorOn(Context{});

  EXPECT_NE(onCpu.find("0 of 500 samples"), std::string::npos) << onCpu;
  EXPECT_EQ(errorOn(cuda), onCpu);
}

}
}
