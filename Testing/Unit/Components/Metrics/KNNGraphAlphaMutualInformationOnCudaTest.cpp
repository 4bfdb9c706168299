// needs: GPU
#include "Components/Metrics/KNNGraphAlphaMutualInformation.h"

#include "Testing/Support/OnGpu/TermsOnGpu.h"
#include "Testing/Support/Scenes/FeatureScenes.h"

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

template <int D>
void expectTheCpusInformation(TermScene<D>& scene, const Settings& settings, const std::string& what)
{
  scene.level.registry = &allComponents();
  const std::pair<const char*, SampleSet<D>> sets[] = {{"points", scene.points(1237, 0)},
                                                       {"few points", scene.points(9, 0.2)},
                                                       {"every third voxel", scene.lattice(3)}};
  for (const auto& [name, samples] : sets) {
    SCOPED_TRACE(what + ", " + name);
    const auto evaluate = [&](const Context& context, bool withGradient) {
      return evaluateOn<D>(context, scene, settings, samples, withGradient);
    };
    // Displacements in float change which of two samples is nearer, or on which side a neighbour lies.
    expectTheCpusResults(evaluate, {2e-5, settings.withFeatures ? 5e-3 : 2e-2, 2e-3, true});
  }
}

const auto expectTheUsualInformation = [](auto& scene, const std::string& what) {
  expectTheCpusInformation(scene, {}, what);
};

using KNNGraphAlphaMutualInformationOnCudaTest = GpuTest;

TEST_F(KNNGraphAlphaMutualInformationOnCudaTest, AgreesWithTheCpuThroughChains)
{
  forEachParametricScene(3, expectTheUsualInformation);
}

TEST_F(KNNGraphAlphaMutualInformationOnCudaTest, AgreesWithTheCpuAtEveryOrderAndCount)
{
  TermScene<3> scene(3, {27, 20, 18});
  scene.useBSpline();
  for (const int order : {1, 2, 4, 5})
    expectTheCpusInformation(scene, {order}, "order " + std::to_string(order));
  expectTheCpusInformation(scene, {3, false}, "one image of each side");
  for (const int k : {1, 33, 5000})
    expectTheCpusInformation(
        scene,
        {3, true,
         "(Alpha 0.5)\n(KNearestNeighbours " + std::to_string(k) + ")\n(RequiredRatioOfValidSamples 0.05)"},
        std::to_string(k) + " neighbours");
}

TEST_F(KNNGraphAlphaMutualInformationOnCudaTest, AgreesWithTheCpuInsideMasks)
{
  forEachMaskedScene(3, expectTheUsualInformation);
}

}
}
