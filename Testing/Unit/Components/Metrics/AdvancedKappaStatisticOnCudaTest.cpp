// needs: GPU
#include "Components/Metrics/AdvancedKappaStatistic.h"

#include "Testing/Support/AllComponents.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/LabelScene.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
TermEvaluation evaluateOn(Context context, const TermScene<D>& scene, const SampleSet<D>& samples,
                          const std::string& text, bool withGradient = true)
{
  AdvancedKappaStatistic<D> metric(
      parametersOf(text + "\n(RequiredRatioOfValidSamples 0.05)", D, 1, "Metric0"));
  scene.interpolator->prepareForLevel(context, scene.moving, 0);
  return evaluateTerm<D>(context, metric, scene, samples, withGradient);
}

/// The CPU's results; the same bits again, and without a gradient. A few samples within rounding of a
/// foreground's edge, or of the nearest voxel's, may be counted otherwise.
template <int D>
void expectTheCpusKappa(TermScene<D>& scene, const std::string& text, const std::string& what)
{
  scene.level.registry = &allComponents();
  const Context onCuda = makeContext({DeviceKind::cuda, 0}, 1);
  const std::pair<const char*, SampleSet<D>> sets[] = {{"points", scene.points(2500, 0)},
                                                       {"every voxel", scene.lattice(1)},
                                                       {"every second voxel", scene.lattice(2)}};
  for (const auto& [name, samples] : sets) {
    SCOPED_TRACE(what + ", " + name + ": " + text);
    const TermEvaluation cpu = evaluateOn<D>(Context{}, scene, samples, text),
                         cuda = evaluateOn<D>(onCuda, scene, samples, text),
                         again = evaluateOn<D>(onCuda, scene, samples, text);

    EXPECT_EQ(cuda.term.asked, cpu.term.asked);
    const auto valid = static_cast<double>(cpu.term.valid);
    EXPECT_NEAR(static_cast<double>(cuda.term.valid), valid, 1e-3 * valid);
    EXPECT_NEAR(cuda.term.value, cpu.term.value, 3 / valid);
    const double largest = largestMagnitude(cpu.gradient);
    ASSERT_GT(largest, 0);
    EXPECT_LE(largestDifference(cuda.gradient, cpu.gradient), 1e-2 * largest);
    EXPECT_EQ(again.gradient, cuda.gradient);
    EXPECT_EQ(again.term.value, cuda.term.value);
    EXPECT_EQ(evaluateOn<D>(onCuda, scene, samples, text, false).term.value, cuda.term.value);
  }
}

template <int D>
void expectTheCpusKappaInAllChains(const std::string& text)
{
  LabelScene<D> scene(unequalSize<D>());
  expectTheCpusKappa<D>(scene, text, "affine");
  for (const Combination combination : {Combination::compose, Combination::add}) {
    scene.useAffine();
    scene.useAsInitial(combination);
    useBSpline<D>(scene, 3, false);
    expectTheCpusKappa<D>(scene, text, "B-spline with affine");
    scene.level.chain = (scene.chain = std::make_shared<TransformChain<D>>()).get();
  }
}

using AdvancedKappaStatisticOnCudaTest = testing::GpuTest;

TEST_F(AdvancedKappaStatisticOnCudaTest, AgreesWithTheCpuThroughChains)
{
  for (const std::string text : {"(ForegroundValue 7)", "(ForegroundValue 7)\n(UseComplement \"false\")",
                                 "(UseForegroundValue \"false\")"}) {
    expectTheCpusKappaInAllChains<2>(text);
    expectTheCpusKappaInAllChains<3>(text);
  }
}

TEST_F(AdvancedKappaStatisticOnCudaTest, WithoutForegroundItIsZero)
{
  LabelScene<2> scene(unequalSize<2>());
  const TermEvaluation found = evaluateOn<2>(cuda, scene, scene.points(50), "(ForegroundValue 3.3)");
  EXPECT_EQ(found.term.value, 0);
  EXPECT_EQ(found.gradient, std::vector<double>(found.gradient.size(), 0.0));
}

}
}
