// needs: GPU
#include "Components/Transforms/Shared/StackTransform.h"

#include "Components/Metrics/AdvancedMeanSquares.h"
#include "Core/Registration/Stage/DeviceSupport.h"
#include "Core/Registration/Terms/ImageTerm.h"
#include "Testing/Support/OnGpu/PassesOnGpu.h"
#include "Testing/Support/OnGpu/SeriesOnGpu.h"
#include "Testing/Support/OnGpu/TermsOnGpu.h"
#include "Testing/Support/Scenes/StageRuns.h"

namespace tessera {
namespace {

using namespace testing;

using StackTransformOnCudaTest = testing::GpuTest;

template <int D>
void expectTheCpusPassesOfStacks(const SeriesSceneOf<D>& scene, const std::string& what)
{
  const auto expectOf = [&](const SampleSet<D>& set, const std::string& samples) {
    expectTheCpusPasses<D>(*scene.chain, scene.series, set, what + ", " + samples);
  };
  expectOf(scene.points(1), "one point");
  expectOf(scene.points(2049, -0.1), "points");
  expectOf(scene.lattice(1), "every voxel");
  expectOf(scene.lattice(3), "every third voxel");
}

TEST_F(StackTransformOnCudaTest, PointsAndGradientsAreTheCpus)
{
  forEachStackScene<3>(1, expectTheCpusPassesOfStacks<3>);
  forEachStackScene<4>(1, expectTheCpusPassesOfStacks<4>);
}

TEST_F(StackTransformOnCudaTest, GradientsOfManySamplesAreTheCpus)
{
  SeriesScene scene;
  expectTheCpusPasses<3>(*scene.chain, scene.series, scene.points(100000), "B-splines");
  scene.use(std::make_shared<EulerStackTransform<3>>(parametersOf("")), 0.02);
  expectTheCpusPasses<3>(*scene.chain, scene.series, scene.points(100000), "Euler transforms");
}

/// Also in masks of both images.
void expectTheCpusMeanSquares(SeriesScene& scene, const std::string& what)
{
  const auto ball = [](const Vec<3>& p) { return std::hypot(p[0] - 36, p[1] + 3) < 14; };
  for (const bool masked : {false, true}) {
    SCOPED_TRACE(what + (masked ? " in masks" : ""));
    scene.level.fixedMask = scene.level.movingMask =
        masked ? std::make_shared<Mask<3>>(drawMask<3>(scene.series->geometry, ball)) : nullptr;
    BSplineInterpolator<3> interpolator(parametersOf("(BSplineInterpolationOrder 3)"));
    scene.level.interpolator = &interpolator;
    for (const SampleSet<3>& samples : {SampleSet<3>(scene.points(2500, 0)), scene.lattice(1)}) {
      const auto evaluateOn = [&](Context context, bool withGradient) {
        const Parameters parameters = parametersOf("(RequiredRatioOfValidSamples 0.05)", 3, 1, "Metric0");
        ImageTerm<3> term(parameters, std::make_unique<MetricOf<AdvancedMeanSquares>>(parameters));
        interpolator.prepareForLevel(context, scene.series, 0);
        return evaluateTerm<3>(context, term, scene, samples, withGradient);
      };
      expectTheCpusResults(evaluateOn, {1e-5, 1e-5, 1e-3});
    }
  }
}

TEST_F(StackTransformOnCudaTest, MeanSquaresOfImagesAreTheCpus)
{
  forEachStackScene<3>(3, expectTheCpusMeanSquares);
}

TEST(StackTransformWithoutAGpuTest, RefusesOtherTransformsInItsChain)
{
  const SeriesScene scene;
  TransformChain<3> chain = *scene.chain;
  EXPECT_EQ(whyNotOnCuda(chain), "");
  EXPECT_EQ(whyNotResampledOnCuda(chain), "the transform \"BSplineStackTransform\"");
  const auto before = std::make_shared<TransformChain<3>>();
  before->transform = std::make_shared<EulerTransform<3>>(parametersOf(""));
  before->parameters.resize(6);
  chain.initial = before;
  EXPECT_EQ(whyNotOnCuda(chain),
            "the transform \"EulerTransform\" before the transform \"BSplineStackTransform\"");
}

}
}
