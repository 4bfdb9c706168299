// needs: GPU
#include "Components/Metrics/SumSquaredTissueVolumeDifference.h"
#include "Testing/Support/OnGpu/TermsOnGpu.h"

namespace tessera {
namespace {

using namespace testing;

/// The CPU's results on all kinds of samples.
template <int D>
void expectTheCpusTissue(TermScene<D>& scene, const std::string& what)
{
  SCOPED_TRACE(what);
  forEachKindOfSamples<D>(scene, 3, [&](const SampleSet<D>& samples) {
    const auto evaluateOn = [&](Context context, bool withGradient) {
      SumSquaredTissueVolumeDifference<D> metric(parametersOf(
          "(AirValue -200)\n(TissueValue 300)\n(RequiredRatioOfValidSamples 0.05)", D, 1, "Metric0"));
      scene.interpolator->prepareForLevel(context, scene.moving, 0);
      return evaluateTerm<D>(context, metric, scene, samples, withGradient);
    };
    expectTheCpusResults(evaluateOn, {1e-6, 2e-6});
  });
}

using SumSquaredTissueVolumeDifferenceOnCudaTest = GpuTest;

TEST_F(SumSquaredTissueVolumeDifferenceOnCudaTest, AgreesWithTheCpuThroughChains)
{
  forEachBendingScene<2>(expectTheCpusTissue<2>);
  forEachBendingScene<3>(expectTheCpusTissue<3>);
  forEachModelScene<3>(false, expectTheCpusTissue<3>);
}

TEST_F(SumSquaredTissueVolumeDifferenceOnCudaTest, AgreesWithTheCpuInsideMasks)
{
  forEachMaskedScene(1, expectTheCpusTissue<3>);
}

}
}
