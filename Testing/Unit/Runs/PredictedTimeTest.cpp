// needs: Runs
#include "Core/Runs/Prediction/MeasuredTime.h"
#include "Core/Runs/Run.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/ResampleScenes.h"

namespace tessera {
namespace {

using namespace testing;

/// An image without contrast, of which a plan asks only the size.
template <int D>
GivenImage plainImage(std::size_t side)
{
  const ImageGeometry<D> geometry = centredGeometry<D>(perAxis<D>(side), perAxis<D>(1.0));
  return {"image", std::make_shared<Image<D>>(Image<D>{geometry, std::vector<float>(geometry.voxelCount())})};
}

/// A registration of Testing/Benchmarks/registration-times.
std::string textOf(bool isSpline, bool isDense, int iterations)
{
  return "(FixedImagePyramid \"FixedRecursiveImagePyramid\")\n(MovingImagePyramid "
         "\"MovingRecursiveImagePyramid\")\n(Metric \"AdvancedMattesMutualInformation\")\n(Interpolator "
         "\"LinearInterpolator\")\n(NumberOfResolutions 3)\n(WriteResultImage \"false\")\n"
         + std::string(isDense
                           ? "(ImageSampler \"Full\")\n(Optimizer \"ConjugateGradient\")\n(LineSearch "
                             "\"BoundedStep\")\n(ValueTolerance 1e-6)\n(GradientMagnitudeTolerance 1e-12)\n"
                           : "(ImageSampler \"RandomCoordinate\")\n(NumberOfSpatialSamples 2000)\n"
                             "(Optimizer \"AdaptiveStochasticGradientDescent\")\n")
         + (isSpline ? "(Transform \"BSplineTransform\")\n(FinalGridSpacingInVoxels 8)\n"
                     : "(Transform \"AffineTransform\")\n(AutomaticScalesEstimation \"true\")\n")
         + "(MaximumNumberOfIterations " + std::to_string(iterations) + ")\n";
}

template <int D>
RunPlan planOf(std::size_t side, const std::vector<std::string>& texts, int threads = 16)
{
  RunRequest request;
  request.fixed = request.moving = {plainImage<D>(side)};
  for (const std::string& text : texts)
    request.stages.push_back(stageTextOf("parameters", text));
  request.device = "cpu";
  request.threads = threads;
  Log log;
  return tessera::Run<D>(allComponents(), request, log).plan();
}

/// A registration of decision 0025 on 16 threads and an H100: the seconds of whole processes on both devices.
struct Registration {
  int dimension;
  std::size_t side;
  bool isSpline, isDense;
  double cpu, cuda;
};

constexpr Registration registrations[] = {
    {2, 200, false, false, 0.09, 0.48}, {2, 200, true, false, 0.13, 0.52},  {2, 700, true, true, 0.23, 0.44},
    {2, 1200, true, false, 0.23, 0.46}, {2, 1200, false, true, 0.16, 0.41}, {2, 1200, true, true, 0.61, 0.43},
    {2, 2048, true, false, 0.45, 0.59}, {2, 2048, false, true, 0.32, 0.40}, {2, 2048, true, true, 2.16, 0.65},
    {3, 64, false, false, 0.11, 0.42},  {3, 64, true, false, 0.20, 0.49},   {3, 64, true, true, 0.23, 0.46},
    {3, 100, true, true, 0.57, 0.47},   {3, 128, false, true, 0.39, 0.43},  {3, 160, true, false, 0.35, 0.56},
    {3, 160, false, true, 0.39, 0.44},  {3, 160, true, true, 1.38, 0.57}};

TEST(PredictedTime, ChoosesTheFasterDeviceForTheRegistrationsOfTheRecord)
{
  for (const Registration& one : registrations) {
    const std::string text = textOf(one.isSpline, one.isDense, one.isDense ? 20 : 200);
    const RunPlan plan = one.dimension == 2 ? planOf<2>(one.side, {text}) : planOf<3>(one.side, {text});
    EXPECT_EQ(plan.onEither.cpu <= plan.onEither.cuda, one.cpu <= one.cuda)
        << one.dimension << "D " << one.side << " " << one.isSpline << one.isDense << ": "
        << plan.onEither.cpu << " " << plan.onEither.cuda;
  }
}

TEST(PredictedTime, TenTimesTheIterationsOfASmallImageStayOnTheCpu)
{
  const RunPlan small = planOf<2>(200, {textOf(false, false, 2000)}),
                large = planOf<2>(2048, {textOf(true, false, 2000)});
  EXPECT_NEAR(small.onEither.cpu, 0.4, 0.1); // 0.4 s were taken
  EXPECT_LT(small.onEither.cpu, small.onEither.cuda);
  EXPECT_GT(large.onEither.cpu, large.onEither.cuda); // 134,000 parameters
}

/// elastix's files for two heads of 207x256x215 and 188x256x190 voxels, which took 1.38 s on 16 threads, and
/// 0.92 s on an H200.
TEST(PredictedTime, TwoHeadsGoToCuda)
{
  const auto stage = [](bool isSpline, int iterations) {
    std::string text = replaced(textOf(isSpline, false, iterations), "Resolutions 3", "Resolutions 4");
    text = replaced(replaced(text, "Samples 2000", "Samples 2048"), "(WriteResultImage \"false\")",
                    "(ResampleInterpolator \"FinalBSplineInterpolator\")");
    return isSpline ? replaced(text, "InVoxels 8", "InPhysicalUnits 16") : text;
  };
  const RunPlan plan = planOf<3>(217, {stage(false, 250), stage(true, 500)});
  EXPECT_GT(plan.onEither.cpu, plan.onEither.cuda);
  EXPECT_LT(plan.onEither.cpu, 1.38);
}

TEST(PredictedTime, CountsEvaluationsOfEachLevelAndTellsWhatMayEndEarlier)
{
  const RunPlan drawn = planOf<2>(40, {textOf(false, false, 200)}),
                dense = planOf<2>(40, {textOf(false, true, 20)});
  EXPECT_EQ(drawn.stages.at(0).evaluations, (std::vector<double>{200, 200, 200}));
  EXPECT_FALSE(drawn.mayEndEarly);
  EXPECT_NEAR(dense.stages.at(0).evaluations.at(2), 126, 1e-9); // 6.3 an iteration
  EXPECT_TRUE(dense.mayEndEarly);
}

TEST(PredictedTime, GrowsWithThreadsThatAreMissingAndWithMetricsThatSeeMore)
{
  const std::string text = textOf(true, true, 20), mattes = "AdvancedMattesMutualInformation",
                    local = replaced(text, mattes, "LocalNormalizedCorrelation"),
                    graph = replaced(textOf(false, false, 200), mattes, "KNNGraphAlphaMutualInformation");
  const RunPlan all = planOf<3>(64, {text}), one = planOf<3>(64, {text}, 1);
  EXPECT_NEAR(one.times.stages / all.times.stages, 11.5, 2);
  EXPECT_NEAR(planOf<3>(64, {local}).times.stages / all.times.stages, 4, 0.5);
  EXPECT_GT(planOf<2>(40, {graph}).onEither.cpu,
            50 * planOf<2>(40, {textOf(false, false, 200)}).onEither.cpu);
}

/// Images of decision 0025 that were resampled on an H200 and on 16 threads.
TEST(PredictedTime, ChoosesTheFasterDeviceForTheImagesOfTheRecord)
{
  constexpr int linear = 1, cubic = 3;
  const Calibration& shipped = shippedCalibration();
  struct Resampled {
    Size<3> size;
    const char* letters; // of the chain
    int order;
    bool onCuda;
  };
  for (const auto& [size, letters, order, onCuda] :
       {Resampled{{100, 100, 100}, "A", linear, false}, Resampled{{256, 256, 256}, "A", cubic, false},
        Resampled{{256, 256, 256}, "AB", cubic, false}, Resampled{{512, 512, 256}, "A", linear, false},
        Resampled{{512, 512, 256}, "A", cubic, true}, Resampled{{512, 512, 256}, "AB", cubic, true}}) {
    const ImageGeometry<3> lattice = centredGeometry<3>(size, {1, 1, 1});
    const auto small = std::make_shared<Image<3>>(
        Image<3>{centredGeometry<3>({20, 20, 20}, {1, 1, 1}), std::vector<float>(8000)});
    const ImageSizes image{.voxels = static_cast<double>(lattice.voxelCount())};
    const DeviceTimes times =
        timesOfImages<3>({shipped, 16}, letterChain<3>(letters, small), lattice, order, {image}, 8);
    EXPECT_EQ(times.cpu > shipped.cudaStartSeconds + times.cuda, onCuda)
        << size[0] << " " << letters << " " << order << ": " << times.cpu << " " << times.cuda;
  }
}

/// The many samples of exact gradients are drawn once a level, and not at each evaluation.
TEST(MeasuredTime, AnEvaluationTakesNoPartOfWhatALevelDoesOnce)
{
  LevelSummary level;
  level.evaluations = 4;
  level.time = {{"preparation", 900, "cpu"},
                {"AdvancedMeanSquares", 3, "cpu"},
                {"optimizer", 5, "cpu"},
                {"exact gradients", 800, "cpu"},
                {"step sizes", 700, "cpu"}};
  EXPECT_DOUBLE_EQ(evaluationSeconds(level), 0.002);
}

}
}
