// needs: GPU
#include "Components/Metrics/SumSquaredTissueVolumeDifference.h"

#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/MaskScenes.h"
#include "Testing/Support/Scenes/ModelScenes.h"

#include <cmath>

namespace tessera {
namespace {

using namespace testing;

template <int D>
TermEvaluation evaluateOn(Context context, const TermScene<D>& scene, const SampleSet<D>& samples,
                          bool withGradient = true)
{
  SumSquaredTissueVolumeDifference<D> metric(parametersOf(
      "(AirValue -200)\n(TissueValue 300)\n(RequiredRatioOfValidSamples 0.05)", D, 1, "Metric0"));
  scene.interpolator->prepareForLevel(context, scene.moving, 0);
  return evaluateTerm<D>(context, metric, scene, samples, withGradient);
}

/// The CPU's results on all kinds of samples; the same bits again, and without a gradient.
template <int D>
void expectTheCpusResults(const TermScene<D>& scene, const std::string& what)
{
  const Context onCuda = makeContext({DeviceKind::cuda, 0}, 1);
  const std::pair<const char*, SampleSet<D>> sets[] = {{"points", scene.points(2500, 0)},
                                                       {"every voxel", scene.lattice(1)},
                                                       {"every third voxel", scene.lattice(3)}};
  for (const auto& [name, samples] : sets) {
    SCOPED_TRACE(what + ", " + name);
    const TermEvaluation cpu = evaluateOn<D>(Context{}, scene, samples),
                         cuda = evaluateOn<D>(onCuda, scene, samples),
                         again = evaluateOn<D>(onCuda, scene, samples);

    EXPECT_GT(cpu.term.valid, 0u);
    EXPECT_EQ(cuda.term.asked, cpu.term.asked);
    EXPECT_EQ(cuda.term.valid, cpu.term.valid);
    EXPECT_NEAR(cuda.term.value, cpu.term.value, 1e-6 * cpu.term.value);
    ASSERT_EQ(cuda.gradient.size(), cpu.gradient.size());
    double largest = 0;
    for (const double g : cpu.gradient)
      largest = std::max(largest, std::abs(g));
    for (std::size_t i = 0; i < cpu.gradient.size(); ++i)
      ASSERT_NEAR(cuda.gradient[i], cpu.gradient[i], 2e-6 * largest) << i;
    EXPECT_EQ(again.gradient, cuda.gradient);
    EXPECT_EQ(again.term.value, cuda.term.value);
    EXPECT_EQ(evaluateOn<D>(onCuda, scene, samples, false).term.value, cuda.term.value);
  }
}

TEST(SumSquaredTissueVolumeDifferenceOnCudaTest, AgreesWithTheCpuThroughChains)
{
  TESSERA_NEEDS_GPU();
  forEachBendingScene<2>([](const TermScene<2>& scene, const std::string& what) {
    expectTheCpusResults<2>(scene, "2D " + what);
  });
  forEachBendingScene<3>(
      [](const TermScene<3>& scene, const std::string& what) { expectTheCpusResults<3>(scene, what); });
}

TEST(SumSquaredTissueVolumeDifferenceOnCudaTest, AgreesWithTheCpuThroughSplinesAndFields)
{
  TESSERA_NEEDS_GPU();
  forEachModelScene<3>(false, [](const TermScene<3>& scene, const std::string& what) {
    expectTheCpusResults<3>(scene, what);
  });
}

TEST(SumSquaredTissueVolumeDifferenceOnCudaTest, AgreesWithTheCpuInsideMasks)
{
  TESSERA_NEEDS_GPU();
  TermScene<3> scene(1, {27, 20, 18});
  useMasksOfABall(scene);
  useBSpline<3>(scene, 3, false);
  expectTheCpusResults<3>(scene, "B-spline in masks");
  scene.useAffine();
  expectTheCpusResults<3>(scene, "affine in masks");
}

}
}
