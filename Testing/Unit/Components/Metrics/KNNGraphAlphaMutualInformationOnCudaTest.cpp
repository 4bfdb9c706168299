// needs: GPU
#include "Components/Metrics/KNNGraphAlphaMutualInformation.h"

#include "Components/Transforms/EulerTransform.h"
#include "Core/Compute/Memory/Memory.h"
#include "Testing/Support/AllComponents.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/FeatureScenes.h"
#include "Testing/Support/Scenes/MaskScenes.h"

#include <cmath>
#include <numeric>
#include <optional>

namespace tessera {
namespace {

using namespace testing;

struct Settings {
  int order = 3;
  bool withFeatures = true;
  std::string text = "(Alpha 0.9)\n(KNearestNeighbours 12)\n(FixedImageInterpolatorBSplineOrder 1 2)\n"
                     "(RequiredRatioOfValidSamples 0.05)";
};

template <int D>
TermEvaluation evaluateOn(const Context& device, TermScene<D>& scene, const Settings& settings,
                          const SampleSet<D>& samples, bool withGradient = true)
{
  Context context = device;
  scene.interpolator = std::make_unique<BSplineInterpolator<D>>(parametersOf(
      "(BSplineInterpolationOrder " + std::to_string(settings.order) + ")", D, 1, "Interpolator0"));
  scene.interpolator->prepareForLevel(context, scene.moving, 0);
  scene.level.interpolator = scene.interpolator.get();
  std::optional<Features<D>> features;
  if (settings.withFeatures)
    features.emplace(context, scene, settings.order);
  KNNGraphAlphaMutualInformation<D> metric(parametersOf(settings.text, D, 1, "Metric0"));
  if (features)
    metric.setFeatures(features->images());
  return evaluateTerm<D>(context, metric, scene, samples, withGradient);
}

double norm(const std::vector<double>& a)
{
  return std::sqrt(std::inner_product(a.begin(), a.end(), a.begin(), 0.0));
}

double relativeDifference(std::vector<double> a, const std::vector<double>& b)
{
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] -= b[i];
  return norm(a) / norm(b);
}

template <int D>
void expectTheCpusResults(TermScene<D>& scene, const Settings& settings, const std::string& what)
{
  scene.level.registry = &allComponents();
  const Context cuda = makeContext({DeviceKind::cuda, 0}, 1);
  const std::pair<const char*, SampleSet<D>> sets[] = {{"points", scene.points(1237, 0)},
                                                       {"few points", scene.points(9, 0.2)},
                                                       {"every third voxel", scene.lattice(3)}};
  for (const auto& [name, samples] : sets) {
    SCOPED_TRACE(what + ", " + name);
    const TermEvaluation first = evaluateOn<D>(cuda, scene, settings, samples),
                         cpu = evaluateOn<D>(Context{}, scene, settings, samples);
    EXPECT_EQ(first.term.asked, cpu.term.asked);
    EXPECT_NEAR(static_cast<double>(first.term.valid), static_cast<double>(cpu.term.valid),
                2e-3 * static_cast<double>(cpu.term.valid)) // rounding at the border
        << "valid samples";
    if (first.term.valid == cpu.term.valid) {
      EXPECT_NEAR(first.term.value, cpu.term.value, 2e-5 * std::abs(cpu.term.value));
      // Displacements in float change which of two samples is nearer, or on which side a neighbour lies.
      EXPECT_LT(relativeDifference(first.gradient, cpu.gradient), settings.withFeatures ? 5e-3 : 2e-2);
    }
    const TermEvaluation again = evaluateOn<D>(cuda, scene, settings, samples);
    EXPECT_EQ(again.gradient, first.gradient) << "not the same bits";
    EXPECT_EQ(evaluateOn<D>(cuda, scene, settings, samples, false).term.value, first.term.value)
        << "value alone";
  }
}

TEST(KNNGraphAlphaMutualInformationOnCudaTest, AgreesWithTheCpuThroughChains)
{
  TESSERA_NEEDS_GPU();
  for (const Combination combination : {Combination::compose, Combination::add}) {
    const std::string joined = combination == Combination::add ? " added to " : " after ";
    TermScene<3> scene(3, {27, 20, 18});
    scene.useAffine();
    expectTheCpusResults(scene, {}, "affine");
    scene.useAsInitial(combination);
    scene.useBSpline();
    expectTheCpusResults(scene, {}, "B-spline" + joined + "affine");
    scene.useAsInitial(combination);
    scene.use(std::make_shared<EulerTransform<3>>(parametersOf("", 3, 1, "Transform0")), 0.02);
    expectTheCpusResults(scene, {}, "Euler" + joined + "B-spline" + joined + "affine");

    TermScene<2> flat(3, {41, 36});
    flat.useAffine();
    flat.useAsInitial(combination);
    flat.useBSpline();
    expectTheCpusResults(flat, {}, "2D B-spline" + joined + "affine");
  }
}

TEST(KNNGraphAlphaMutualInformationOnCudaTest, AgreesWithTheCpuAtEveryOrderAndCount)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(3, {27, 20, 18});
  scene.useBSpline();
  for (const int order : {1, 2, 4, 5})
    expectTheCpusResults(scene, {order}, "order " + std::to_string(order));
  expectTheCpusResults(scene, {3, false}, "one image of each side");
  for (const int k : {1, 33, 5000})
    expectTheCpusResults(
        scene,
        {3, true,
         "(Alpha 0.5)\n(KNearestNeighbours " + std::to_string(k) + ")\n(RequiredRatioOfValidSamples 0.05)"},
        std::to_string(k) + " neighbours");
}

TEST(KNNGraphAlphaMutualInformationOnCudaTest, AgreesWithTheCpuInsideMasks)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(3, {27, 20, 18});
  useMasksOfABall(scene);
  scene.useBSpline();
  expectTheCpusResults(scene, {}, "B-spline in masks");
  scene.useAffine();
  expectTheCpusResults(scene, {}, "affine in masks");
}

}
}
