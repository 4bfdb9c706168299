// The toys are used as any other component: described, registered with, and checked by the shared
// helpers.
#include "Components/AddComponent.h"
#include "Core/Registration/Stage/DeviceSupport.h"
#include "Core/Registry/Describe.h"
#include "Testing/Support/Checks/InterpolatorChecks.h"
#include "Testing/Support/Checks/MetricChecks.h"
#include "Testing/Support/Checks/TermChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/StageRuns.h"
#include "Testing/Toys/Interpolators/CatmullRomInterpolator.h"
#include "Testing/Toys/Metrics/SumOfAbsoluteDifferences.h"
#include "Testing/Toys/RegisterToys.h"
#include "Testing/Toys/Transforms/StretchTransform.h"

namespace tessera {
namespace {

using namespace testing;

constexpr LevelFacts facts{0, 100, 0, 100};

TEST(SumOfAbsoluteDifferencesTest, MatchesValueComputedByHand)
{
  const auto result =
      evaluateMetric<SumOfAbsoluteDifferences>("(IntensityTolerance 0.5)", facts, {1, 2, 3}, {1, 4, 0});

  EXPECT_DOUBLE_EQ(result.value, 0 + (2 - 0.5) + (3 - 0.5));
  EXPECT_EQ(result.slopes, (Intensities{0, 1, -1}));
}

TEST(SumOfAbsoluteDifferencesTest, SlopesMatchFiniteDifferences)
{
  const Intensities fixed = randomIntensities(50, 1), moving = randomIntensities(50, 2);

  expectSlopesMatchFiniteDifferences<SumOfAbsoluteDifferences>("", facts, fixed, moving, 0.015625f, 1e-6);
}

TEST(StretchTransformTest, DerivativesMatchFiniteDifferences)
{
  const StretchTransform<3> transform(parametersOf("", 3, 1, "Transform0"));
  const std::vector<double> parameters{1.1, 0.9, 1.2, 3, -4, 5};
  const auto points = checks::randomPoints<3>(17, 2, {-100, -100, -100}, {80, 80, 80});

  EXPECT_NEAR(checks::mapped<3>(transform, parameters, points).mm[1][0], 0.9 * points.mm[1][0] - 4, 1e-12);
  checks::expectPullBackIsAdjointOfPushForward<3>(transform, parameters, points);
  checks::expectPushForwardMatchesFiniteDifferences<3>(transform, parameters, points, 1e-5, 1e-8);
  checks::expectSpatialDerivativesMatchFiniteDifferences<3>(transform, parameters, points, 0.1, 1e-11, 1e-12);
}

TEST(CatmullRomInterpolatorTest, GradientsMatchFiniteDifferences)
{
  ImageGeometry<2> geometry{.size = {7, 6}, .spacingMm = {0.5, 2}};
  const Image<2> image = noiseImage<2>(geometry, 3);
  constexpr double step = 1e-3;        // mm
  std::vector<Vec<2>> indices{{2, 3}}; // a voxel, then a point with its neighbours along both axes
  for (const Vec<2>& offset :
       {Vec<2>{0, 0}, {step / 0.5, 0}, {-step / 0.5, 0}, {0, step / 2}, {0, -step / 2}})
    indices.push_back({3.3 + offset[0], 1.6 + offset[1]});
  indices.push_back({-0.6, 1});
  CatmullRomInterpolator<2> interpolator(parametersOf("", 2, 1, "Interpolator0"));

  const Interpolated<2> found = interpolate<2>(interpolator, image, indices);

  EXPECT_EQ(found.values[0], image.voxels[2 + 3 * 7]);
  for (int d = 0; d < 2; ++d)
    EXPECT_NEAR(found.gradients[d][1], (found.values[2 + 2 * d] - found.values[3 + 2 * d]) / (2 * step),
                1e-2);
  EXPECT_EQ(found.inside[6], 0);
  EXPECT_EQ(found.values[6], 0);
}

/// The toys in one cost: the metric's slopes go through the transform's pullBack.
TEST(ToysTest, GradientOfTheCostMatchesFiniteDifferences)
{
  TermScene<3> scene(3, {20, 18, 16});
  scene.use(std::make_shared<StretchTransform<3>>(parametersOf("", 3, 1, "Transform0")), 0.02);
  const Parameters parameters = parametersOf("(RequiredRatioOfValidSamples 0.05)", 3, 1, "Metric0");
  ImageTerm<3> term(parameters, std::make_unique<MetricOf<SumOfAbsoluteDifferences>>(parameters));
  term.prepareForLevel(host, scene.level);

  // Intensities are floats, and a pair that changes its sign within a step counts half: a thousandth.
  expectGradientMatchesFiniteDifferences<3>(term, scene.points(2000), scene.chain->parameters, 1e-4, 1e-3);
}

const Registry& toys()
{
  static const Registry registry = [] {
    Registry r;
    registerToys(r);
    return r;
  }();
  return registry;
}

constexpr const char* stageOfToys =
    "(Metric \"SumOfAbsoluteDifferences\") (Transform \"StretchTransform\") (Optimizer "
    "\"AdaptiveStochasticGradientDescent\") (MaximumNumberOfIterations 150) (AutomaticScalesEstimation "
    "\"true\") (NewSamplesEveryIteration \"false\")";

/// The moving image of stageInput is the fixed one 0.7 mm to the left.
void expectTheShiftIsFound(Context context, const std::string& interpolator)
{
  const DrawnStage<2> drawn =
      stageInput<2>({40, 30}, stageOfToys + (" (Interpolator \"" + interpolator + "\")"));
  Reporter<2> reporter;
  Log log;

  const StageResult<2> result = runStage<2>(
      context, toys(), prepareStage<2>(toys(), stageParameters(drawn.parameters, 2)), drawn, reporter, log);

  const std::vector<double>& parameters = result.chain->parameters;
  ASSERT_EQ(parameters.size(), 4u);
  EXPECT_NEAR(parameters[0], 1, 0.01);
  EXPECT_NEAR(parameters[1], 1, 0.01);
  EXPECT_NEAR(parameters[2], -0.7, 0.05);
  EXPECT_NEAR(parameters[3], 0, 0.05);
}

TEST(ToysTest, FindAShiftOnTheCpu)
{
  expectTheShiftIsFound({}, "CatmullRomInterpolator");
}

TEST(ToysTest, FindAShiftOnCuda)
{
  TESSERA_NEEDS_GPU();
  expectTheShiftIsFound(makeContext({DeviceKind::cuda, 0}, 1), "LinearInterpolator");
}

TEST(ToysTest, AreDescribedAsAllComponents)
{
  const std::string metric = describeComponent(toys().require("Metric", "SumOfAbsoluteDifferences", ""));
  EXPECT_PRED2(contains, metric, "IntensityTolerance");
  EXPECT_PRED2(contains, metric, "differences up to this add nothing");
  const std::string transform = describeComponent(toys().require("Transform", "StretchTransform", ""));
  EXPECT_PRED2(contains, transform, "a factor for each axis");
}

/// The toy metric without its CUDA form.
class OfTheCpuAlone : public SumOfAbsoluteDifferences {
public:
  using SumOfAbsoluteDifferences::SumOfAbsoluteDifferences;

  static const ComponentDescription& description()
  {
    static const ComponentDescription description{"Metric", "OfTheCpuAlone", "a test's metric"};
    return description;
  }
  std::unique_ptr<MetricOnCuda> onCuda(const Context&) const = delete;
};

TEST(ToysTest, PartsWithoutCudaFormSendAutoToTheCpu)
{
  Registry registry;
  registerToys(registry);
  addComponent<OfTheCpuAlone>(registry);
  const auto whyNot = [&](const std::string& lines) {
    return whyStageNotOnCuda<2>(prepareStage<2>(registry, stageParameters(stageText(lines), 2)), nullptr);
  };
  EXPECT_EQ(whyNot("(Metric \"SumOfAbsoluteDifferences\")"), "");
  const std::string ofMetric = whyNot("(Metric \"OfTheCpuAlone\")"),
                    ofInterpolator = whyNot("(Interpolator \"CatmullRomInterpolator\")");

  EXPECT_EQ(ofMetric, "the metric \"OfTheCpuAlone\" has no CUDA form");
  EXPECT_EQ(ofInterpolator, "the interpolator \"CatmullRomInterpolator\" has no CUDA form");
  for (const std::string& why : {ofMetric, ofInterpolator})
    EXPECT_EQ(chooseDevice("auto", "--device", why).reason, "cpu: " + why);
  const MetricOf<OfTheCpuAlone> metric(parametersOf("", 2, 1, "Metric0"));
  EXPECT_EQ(messageOf([&] { metric.onCuda({}); }),
            "CUDA: the metric \"OfTheCpuAlone\": has no CUDA form. Allowed: (Device \"cpu\").");
}

}
}
