// needs: GPU
#include "Components/Metrics/Shared/Series/SeriesTermOnCuda.h"

#include "Components/Interpolators/LinearInterpolator.h"
#include "Components/Interpolators/NearestNeighborInterpolator.h"
#include "Components/Metrics/PCAMetric.h"
#include "Components/Metrics/PCAMetric2.h"
#include "Components/Metrics/SumOfPairwiseCorrelationCoefficientsMetric.h"
#include "Components/Metrics/VarianceOverLastDimensionMetric.h"
#include "Testing/Support/OnGpu/SeriesOnGpu.h"
#include "Testing/Support/OnGpu/TermsOnGpu.h"

namespace tessera {
namespace {

using namespace testing;

using SeriesTermOnCudaTest = testing::GpuTest;

const std::string someValid = "(RequiredRatioOfValidSamples 0.05)\n";

/// Intensities and slopes are floats on CUDA, and gradients of the image on both.
constexpr TermTolerance ofFloats{1e-6, 1e-5};

template <template <int> class Metric, int D>
void expectTheCpusSeries(const SeriesSceneOf<D>& scene, const SampleSet<D>& samples,
                         const std::string& text = "", const TermTolerance& tolerance = ofFloats)
{
  const auto evaluateOn = [&](Context context, bool withGradient) {
    Metric<D> metric(parametersOf(someValid + text, D, 1, "Metric0"));
    scene.interpolator->prepareForLevel(context, scene.series, 0);
    return evaluateTerm<D>(context, metric, scene, samples, withGradient);
  };
  expectTheCpusResults(evaluateOn, tolerance);
}

template <int D>
void expectTheCpusMetrics(const SeriesSceneOf<D>& scene, const SampleSet<D>& samples)
{
  expectTheCpusSeries<VarianceOverLastDimensionMetric, D>(scene, samples);
  expectTheCpusSeries<PCAMetric, D>(scene, samples, "(NumEigenValues 2)");
  expectTheCpusSeries<PCAMetric2, D>(scene, samples);
  expectTheCpusSeries<SumOfPairwiseCorrelationCoefficientsMetric, D>(scene, samples);
}

template <int D>
void expectTheCpusStacks()
{
  for (const int order : {1, 3})
    forEachStackScene<D>(order, [](const SeriesSceneOf<D>& scene, const std::string& what) {
      SCOPED_TRACE(what);
      expectTheCpusMetrics<D>(scene, scene.points(700, -0.02));
    });
}

TEST_F(SeriesTermOnCudaTest, ValuesAndGradientsThroughStacksAreTheCpus)
{
  expectTheCpusStacks<3>();
  expectTheCpusStacks<4>();
}

/// In masks of both images, which cut a corner in space and the last time.
template <int D>
void expectTheCpusGrids()
{
  SeriesSceneOf<D> scene;
  const auto contains = [](const Vec<D>& p) { return p[0] + p[1] > -8 && p[D - 1] < 8; };
  for (const bool masked : {false, true}) {
    SCOPED_TRACE(masked);
    if (masked)
      scene.level.fixedMask = scene.level.movingMask =
          std::make_shared<Mask<D>>(drawMask<D>(scene.series->geometry, contains));
    expectTheCpusSeries<VarianceOverLastDimensionMetric, D>(scene, scene.lattice(1));
    expectTheCpusSeries<VarianceOverLastDimensionMetric, D>(scene, scene.lattice(3));
    if (!masked) // no place has all times in the mask
      expectTheCpusSeries<PCAMetric2, D>(scene, scene.lattice(2));
  }
}

TEST_F(SeriesTermOnCudaTest, ValuesAndGradientsOnGridsAndInMasksAreTheCpus)
{
  expectTheCpusGrids<3>();
  expectTheCpusGrids<4>();
}

TEST_F(SeriesTermOnCudaTest, DrawsTheTimesOfTheCpu)
{
  const SeriesScene scene;
  for (const std::string text : {"", "(NumAdditionalSamplesFixed 3)\n(ReducedDimensionIndex 4)\n"})
    expectTheCpusSeries<VarianceOverLastDimensionMetric, 3>(
        scene, scene.points(900),
        text + "(SampleLastDimensionRandomly \"true\")\n(NumSamplesLastDimension 2)");
}

TEST_F(SeriesTermOnCudaTest, ManyPlacesGoInBatches)
{
  const SeriesScene scene(1);
  const SampleSet<3> places = scene.points((std::size_t(1) << 18) + 12345); // at 5 times
  expectTheCpusSeries<VarianceOverLastDimensionMetric, 3>(scene, places);
  expectTheCpusSeries<PCAMetric2, 3>(scene, places);
}

TEST_F(SeriesTermOnCudaTest, TransformsAndInterpolatorsOverAllAxesAreTheCpus)
{
  const std::string free = "(UseZeroAverageDisplacementConstraint \"false\")";
  SeriesScene scene;
  BSplineInterpolator<3> overTime(parametersOf("(BSplineInterpolationOrder 3)"));
  const auto expectOf = [&](const std::string& text) {
    expectTheCpusMetrics<3>(scene, scene.points(700));
    for (const bool sliced : {true, false}) {
      scene.level.interpolator = sliced ? static_cast<Interpolator<3>*>(scene.interpolator.get()) : &overTime;
      const auto evaluateOn = [&](Context context, bool withGradient) {
        VarianceOverLastDimensionMetric<3> metric(parametersOf(someValid + text, 3, 1, "Metric0"));
        scene.interpolator->prepareForLevel(context, scene.series, 0);
        overTime.prepareForLevel(context, scene.series, 0);
        return evaluateTerm<3>(context, metric, scene, scene.points(700), withGradient);
      };
      expectTheCpusResults(evaluateOn, ofFloats);
    }
    scene.level.interpolator = scene.interpolator.get();
  };
  expectOf("");
  scene.use(std::make_shared<BSplineTransform<3>>(parametersOf("(FinalGridSpacingInPhysicalUnits 12 12 4)")),
            0.5);
  expectOf("");
  scene.use(std::make_shared<EulerTransform<3>>(parametersOf("")), 0.01);
  expectTheCpusSeries<VarianceOverLastDimensionMetric, 3>(scene, scene.points(700), free);
}

TEST(SeriesTermWithoutAGpuTest, InFourDimensionsOnlySlicesHaveACudaForm)
{
  const Parameters none = parametersOf("", 4);
  EXPECT_EQ(BSplineTransform<4>(none).cudaForm(), nullptr);
  EXPECT_EQ(BSplineInterpolator<4>(none).onCuda(), nullptr);
  EXPECT_EQ(LinearInterpolator<4>(none).onCuda(), nullptr);
  EXPECT_EQ(NearestNeighborInterpolator<4>(none).onCuda(), nullptr);
  EXPECT_NE(ReducedDimensionBSplineInterpolator<4>(none).slicedSeriesOnCuda(), nullptr);
  EXPECT_EQ(ReducedDimensionBSplineInterpolator<4>(none, InterpolatorUse::resampling).slicedSeriesOnCuda(),
            nullptr);
  const SeriesSceneOf<4> scene;
  EXPECT_EQ(whyNotOnCuda(*scene.chain), "");
}

TEST_F(SeriesTermOnCudaTest, FactorsOfTheMovingGradientAreTheCpus)
{
  const SeriesScene scene;
  expectTheCpusSeries<VarianceOverLastDimensionMetric, 3>(
      scene, scene.points(700),
      "(MovingImageDerivativeScales 1 0.25 1)\n(ScaleGradientWithRespectToMovingImageOrientation \"true\")");
}

}
}
