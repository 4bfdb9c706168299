// needs: GPU
#include "Core/Registration/Stage/StageMemory.h"

#include "Core/Compute/Memory/DeviceShare.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/StageRuns.h"

namespace tessera {
namespace {

using namespace testing;

/// No level takes more than was planned, and no plan is a tenth above what is taken.
void expectPlanned(DrawnStage<3> input, const std::string& what, double usableBytes = 1e12)
{
  Context cuda = makeContext({DeviceKind::cuda, 0}, 2);
  input.plans = input.plansFor(usableBytes);
  Reporter<3> reporter;

  const StageResult<3> result = input.run(cuda, reporter);

  for (const LevelSummary& level : result.levels) {
    const std::string of =
        what + ", level " + std::to_string(level.level) + ": " + input.plans[level.level].memory.text();
    EXPECT_EQ(level.deviceBytesPlanned, input.plans[level.level].memory.bytes());
    EXPECT_LE(level.deviceBytesTaken, level.deviceBytesPlanned) << of;
    constexpr double smallArrays = 2e6; // bytes, in every plan for tables and rounding
    EXPECT_GE(1.1 * level.deviceBytesTaken + smallArrays, level.deviceBytesPlanned) << of;
  }
}

const Size<3> size{150, 130, 96};
const std::string freeForm =
    "(Transform \"BSplineTransform\") (FinalGridSpacingInPhysicalUnits 5) (NumberOfResolutions 2) (Optimizer "
    "\"ConjugateGradient\") (Metric \"NormalizedMutualInformation\") (NumberOfHistogramBins 64) ";

using StageMemoryOnCuda = testing::GpuTest;

TEST_F(StageMemoryOnCuda, OfADenseFreeFormRegistrationIsAsPlanned)
{
  expectPlanned(stageInput<3>(size, freeForm), "dense B-spline");
  expectPlanned(stageInput<3>(size, freeForm + "(GradientSummation \"Double\")"),
                "dense B-spline, sums in double");
  expectPlanned(
      stageInput<3>(size, freeForm + "(Interpolator \"BSplineInterpolator\") (BSplineInterpolationOrder 3)"),
      "dense B-spline, cubic interpolation");
}

TEST_F(StageMemoryOnCuda, OfSelfSimilaritiesIsAsPlanned)
{
  const std::string spline =
      "(Transform \"BSplineTransform\") (FinalGridSpacingInPhysicalUnits 5) (Metric \"SelfSimilarity\") ";
  expectPlanned(stageInput<3>(size, spline), "self-similarities of every voxel");
  expectPlanned(stageInput<3>(size, spline + "(ImageSampler \"RandomCoordinate\")"),
                "self-similarities of random points");
}

TEST_F(StageMemoryOnCuda, OfSlabsIsAsPlanned)
{
  DrawnStage<3> input = stageInput<3>(size, freeForm);
  expectPlanned(input, "dense B-spline in slabs", 40e6);
  expectPlanned(stageInput<3>(size, ""), "affine in slabs", 25e6);
}

TEST_F(StageMemoryOnCuda, OfLinearTransformsIsAsPlanned)
{
  expectPlanned(stageInput<3>(size, "(NumberOfResolutions 3)"), "affine");
  expectPlanned(stageInput<3>(size, "(ImageSampler \"Grid\")"), "affine on a grid");
  expectPlanned(stageInput<3>(size, "(FixedImagePyramid \"FixedSmoothingImagePyramid\") (NumberOfResolutions "
                                    "2) (MovingImagePyramid \"MovingSmoothingImagePyramid\")"),
                "affine, levels of one size");
}

TEST_F(StageMemoryOnCuda, OfACombinationIsAsPlanned)
{
  const TemporaryFolder folder;
  std::string names;
  for (const char* number : {"1", "2", "3"})
    names += " \""
             + folder.write(number + std::string(".txt"),
                            "(Transform \"TranslationTransform\")\n(NumberOfParameters 3)\n"
                            "(TransformParameters 1 0 "
                                + std::string(number) + ")")
             + "\"";
  const std::string combination =
      "(Transform \"WeightedCombinationTransform\") (SubTransforms" + names + ") ";
  expectPlanned(stageInput<3>(size, combination), "combination in all voxels");
  expectPlanned(
      stageInput<3>(size, combination + "(ImageSampler \"Random\") (NumberOfSpatialSamples 500000)"),
      "combination at random voxels");
}

TEST_F(StageMemoryOnCuda, OfRandomSamplesIsAsPlanned)
{
  const std::string sampled =
      "(Transform \"BSplineTransform\") (FinalGridSpacingInPhysicalUnits 10) (NewSamplesEveryIteration "
      "\"true\") (Metric \"AdvancedMattesMutualInformation\") (Optimizer "
      "\"AdaptiveStochasticGradientDescent\") ";
  expectPlanned(
      stageInput<3>(size, sampled + "(ImageSampler \"RandomCoordinate\") (NumberOfSpatialSamples 2048)"),
      "random points");
  expectPlanned(
      stageInput<3>(size,
                    sampled + "(ImageSampler \"RandomCoordinate\") (FixedImageBSplineInterpolationOrder 3)"),
      "random points of a cubic spline");
  expectPlanned(stageInput<3>(size, sampled + "(ImageSampler \"Random\") (NumberOfSpatialSamples 500000)"),
                "many random voxels");
}

TEST_F(StageMemoryOnCuda, InMasksIsAsPlanned)
{
  for (const char* sampler : {"Full", "Random", "RandomSparseMask"}) {
    DrawnStage<3> input =
        stageInput<3>(size, freeForm + "(ImageSampler \"" + sampler + "\") (ErodeMask \"false\")");
    const auto inside = [&](const Vec<3>& p) { return Ellipsoid<3>{{}, {50, 60, 40}}(p) > 0; };
    const auto mask = std::make_shared<Mask<3>>(drawMask<3>(input.fixed.front()->geometry, inside));
    input.fixedMasks = input.movingMasks = {mask};
    expectPlanned(input, std::string("masks, ") + sampler);
  }
}

TEST_F(StageMemoryOnCuda, WithPenaltiesAndExactValuesIsAsPlanned)
{
  const auto with = [](const std::string& penalty) {
    return "(Registration \"MultiMetricMultiResolutionRegistration\") (Metric \"AdvancedMeanSquares\" \""
           + penalty
           + "\") (Metric1Weight 0.01) (Transform \"BSplineTransform\") (FinalGridSpacingInPhysicalUnits 5) ";
  };
  for (const char* penalty : {"TransformBendingEnergyPenalty", "DisplacementMagnitudePenalty",
                              "TransformFoldingPenalty", "TransformRigidityPenalty"})
    expectPlanned(stageInput<3>(size, with(penalty)), std::string(penalty) + " in all voxels");
  const std::string bending = with("TransformBendingEnergyPenalty");
  expectPlanned(stageInput<3>(size, bending + "(BendingEnergyIntegration \"Exact\")"),
                "exact bending energy");
  expectPlanned(stageInput<3>(size, bending + "(ImageSampler \"Random\") (ShowExactMetricValue \"true\")"),
                "exact metric values");
}

TEST_F(StageMemoryOnCuda, OfEveryOptimizerIsAsPlanned)
{
  const std::string fineGrid = "(Transform \"BSplineTransform\") (FinalGridSpacingInPhysicalUnits 2) "
                               "(NumberOfResolutions 2) (ImageSampler \"Random\") "; // vectors of 8 MB
  for (const char* optimizer :
       {"(Optimizer \"StandardGradientDescent\")", "(Optimizer \"RegularStepGradientDescent\")",
        "(Optimizer \"AdaptiveStochasticGradientDescent\") (NewSamplesEveryIteration \"true\")",
        "(Optimizer \"AdaptiveStochasticGradientDescent\") (ASGDParameterEstimationMethod "
        "\"DisplacementDistribution\") (NewSamplesEveryIteration \"true\")",
        "(Optimizer \"AdaptiveStochasticGradientDescent\") (AutomaticParameterEstimation \"false\")",
        "(Optimizer \"ConjugateGradient\")",
        "(Optimizer \"FullSearch\") (FullSearchSpace0 \"x\" 5 0 1 1) (FullSearchSpace1 \"x\" 6 0 1 1)",
        "(Optimizer \"QuasiNewtonLBFGS\") (MaximumNumberOfIterations 8) (LBFGSUpdateAccuracy 3)"})
    expectPlanned(stageInput<3>(size, fineGrid + optimizer), optimizer);
}

TEST_F(StageMemoryOnCuda, OfEveryInterpolatorIsAsPlanned)
{
  for (const char* interpolator :
       {"LinearInterpolator", "BSplineInterpolator", "NearestNeighborInterpolator"})
    expectPlanned(stageInput<3>(size, std::string("(Interpolator \"") + interpolator + "\")"), interpolator);
}

/// The bytes that a stage copies to the device, and the parameters that it ends with.
struct Uploads {
  double bytes;
  std::vector<double> parameters;

  explicit Uploads(const DrawnStage<3>& input)
  {
    Context cuda = makeContext({DeviceKind::cuda, 0}, 2);
    Reporter<3> reporter;
    parameters = input.run(cuda, reporter).chain->parameters;
    bytes = bytesToDevice(cuda);
  }
};

TEST_F(StageMemoryOnCuda, ImagesGoThereOnceForAllLevelsIfThereIsRoom)
{
  DrawnStage<3> input =
      stageInput<3>(size, "(NumberOfResolutions 3) (FixedImagePyramid \"FixedSmoothingImagePyramid\") "
                          "(MovingImagePyramid \"MovingSmoothingImagePyramid\")"); // levels of one size
  const auto plan = [&](double usableBytes) { return input.plansFor(usableBytes); };
  const auto ofImages =
      static_cast<double>((input.fixed[0]->voxels.size() + input.moving[0]->voxels.size()) * sizeof(float));

  input.plans = plan(1e12);
  ASSERT_TRUE(input.plans[0].keepsOriginals);
  const Uploads kept(input);
  double most = 0;
  for (LevelPlan& level : input.plans) {
    most = std::max(most, level.memory.bytes());
    level.keepsOriginals = false;
  }
  const Uploads again(input);

  EXPECT_GE(kept.bytes, ofImages);
  EXPECT_LE(kept.bytes, ofImages + 1e6); // and parameters and tables of some kB
  EXPECT_GE(again.bytes, 3 * ofImages);
  EXPECT_EQ(kept.parameters, again.parameters);
  EXPECT_TRUE(plan(most)[0].keepsOriginals);
  EXPECT_FALSE(plan(most - 1)[0].keepsOriginals);
}

TEST_F(StageMemoryOnCuda, WhatIsAskedBeyondTheLimitIsRefused)
{
  const Context cuda = makeContext({DeviceKind::cuda, 0}, 1, 10e6);
  EXPECT_LE(cuda.stream->freeBytes(), 10e6);
  {
    Buffer<float> most(cuda, 2000000);
    EXPECT_EQ(exitCodeOf([&] { Buffer<float>(cuda, 1000000); }), ExitCode::outOfMemory)
        << "12 MB of 10 MB were taken";
  }
  Buffer<float> again(cuda, 2000000); // what was given back may be taken
  EXPECT_EQ(again.size(), 2000000u);
}

TEST_F(StageMemoryOnCuda, WhatAnotherRunHasReservedIsNotUsable)
{
  const Context other = makeContext({DeviceKind::cuda, 0}, 1);
  const double usable = usableDeviceMemory(cuda), half = usable / 2;
  {
    const DeviceReservation reservation(other, [&] { return half; });
    EXPECT_LE(usableDeviceMemory(cuda), half);
    EXPECT_GT(usableDeviceMemory(other), half);
  }
  EXPECT_GT(usableDeviceMemory(cuda), half);
}

}
}
