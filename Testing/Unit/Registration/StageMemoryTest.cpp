#include "Core/Registration/Stage/StageMemory.h"

#include "Testing/Support/Scenes/StageRuns.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

using namespace testing;

constexpr double unlimited = INFINITY;

template <int D>
std::vector<LevelPlan> planOf(const DrawnStage<D>& input, double usableBytes = unlimited)
{
  return input.plansFor(usableBytes);
}

double partOf(const LevelPlan& plan, const std::string& name)
{
  for (const DeviceMemory::Part& part : plan.memory.parts())
    if (part.name == name)
      return part.bytes;
  return 0;
}

constexpr double results = 2048; // bytes: what else is counted with large arrays

TEST(StageMemory, OfAFullSamplerIsImagesAndArraysOfAllVoxels)
{
  const LevelPlan plan = planOf(stageInput<3>({40, 30, 20}, "")).front();

  const double voxels = 40 * 30 * 20, momentsOfBlocks = 8 * 264 * 12;
  EXPECT_EQ(partOf(plan, "images"), 2 * 4 * voxels);
  EXPECT_NEAR(partOf(plan, "samples"), 4 * (1 + 3 + 1) * voxels,
              results); // moving intensity, gradient, slope
  EXPECT_EQ(partOf(plan, "metric"), 1056 * (8 + 8) + 16) << "sums and a count of each block, and the table";
  EXPECT_NEAR(partOf(plan, "pull-back"), momentsOfBlocks, results);
  EXPECT_EQ(partOf(plan, "optimizer"), 0) << "a linear transform's vectors are on the host";
  EXPECT_EQ(plan.slabs, 1u);
}

TEST(StageMemory, FollowsThePyramid)
{
  const std::vector<LevelPlan> plans = planOf(stageInput<3>({40, 30, 20}, "(NumberOfResolutions 3)"));

  ASSERT_EQ(plans.size(), 3u);
  EXPECT_EQ(partOf(plans[0], "images"), 2 * 4 * 10 * 7 * 5);
  EXPECT_EQ(partOf(plans[1], "images"), 2 * 4 * 20 * 15 * 10);
  EXPECT_EQ(partOf(plans[2], "images"), 2 * 4 * 40 * 30 * 20);
}

TEST(StageMemory, OfRandomPointsIsThatOfThePointsAndOfTheGridOfExactGradients)
{
  const std::string sampler = "(ImageSampler \"RandomCoordinate\") (NumberOfSpatialSamples 3000) ";
  const LevelPlan plain = planOf(stageInput<3>({40, 30, 20}, sampler)).front();
  const LevelPlan estimating =
      planOf(stageInput<3>({40, 30, 20}, sampler + "(Optimizer \"AdaptiveStochasticGradientDescent\")"))
          .front();

  const double points = 3000 * (3 * 8 + 4), arrays = 4 * (1 + 3 + 1);
  EXPECT_NEAR(partOf(plain, "samples"), points + 3000 * arrays, results);
  EXPECT_NEAR(partOf(estimating, "samples"), points + 40 * 30 * 20 * arrays, results)
      << "100000 are more than all voxels";
}

TEST(StageMemory, ExactValuesNeedNoSlopes)
{
  const std::string sampler =
      "(ImageSampler \"Random\") (NumberOfSpatialSamples 3000) (ShowExactMetricValue \"true\")";
  const LevelPlan plan = planOf(stageInput<3>({40, 30, 20}, sampler)).front();

  EXPECT_NEAR(partOf(plan, "samples"), 3000 * (3 * 8 + 4) + 4 * (40.0 * 30 * 20 + (3 + 1) * 3000), results);
}

TEST(StageMemory, CountsTheVectorsOfABSpline)
{
  const DrawnStage<3> input =
      stageInput<3>({40, 30, 20}, "(Transform \"BSplineTransform\") (FinalGridSpacingInPhysicalUnits 5) "
                                  "(Optimizer \"ConjugateGradient\")");
  const LevelPlan plan = planOf(input).front();

  const double parameters = 3 * (8 + 3) * (6 + 3) * (4 + 3);
  EXPECT_EQ(partOf(plan, "optimizer"), 8 * parameters * (1 + 4)); // position; gradients and directions
  EXPECT_EQ(partOf(plan, "cost"), 8 * parameters * (2 + 1 + 1)); // scales, parameters, gradient, a copy
}

TEST(StageMemory, CountsTheMatricesOfASpline)
{
  constexpr std::size_t landmarks = 50, vectors = landmarks + 3 + 1, samples = 3000;
  DrawnStage<3> input = stageInput<3>({40, 30, 20}, "(Transform \"SplineKernelTransform\") (ImageSampler "
                                                    "\"Random\") (NumberOfSpatialSamples 3000)");
  input.points.fixedMm.resize(landmarks); // where they lie does not count
  input.points.movingMm.resize(landmarks);
  input.hasPoints = true;

  const LevelPlan plan = planOf(input).front();

  EXPECT_EQ(partOf(plan, "transform"), 8.0 * (3 * landmarks + 3 * vectors + 2 * landmarks * vectors));
  EXPECT_EQ(partOf(plan, "pull-back"), 8.0 * (2 * 3 * samples + (1024 + 1) * 3 * vectors));
  EXPECT_EQ(partOf(plan, "optimizer"), 8.0 * 3 * landmarks * 2) << "position and gradient";
}

TEST(StageMemory, OfAPenaltyOnASplineIsKnownBeforeItsLandmarksAre)
{
  DrawnStage<3> input = stageInput<3>(
      {40, 30, 20}, "(Transform \"SplineKernelTransform\") (Registration "
                    "\"MultiMetricMultiResolutionRegistration\") (Metric \"AdvancedMeanSquares\" "
                    "\"TransformBendingEnergyPenalty\" \"TransformFoldingPenalty\")");
  input.points.fixedMm.resize(50);
  input.points.movingMm.resize(50);
  input.hasPoints = true;

  EXPECT_GT(partOf(planOf(input).front(), "penalties"), 0);
}

TEST(StageMemory, CountsTheStepsThatLbfgsRemembers)
{
  const auto vectors = [](const std::string& lines) {
    const DrawnStage<2> input =
        stageInput<2>({40, 30}, "(Transform \"BSplineTransform\") (Optimizer \"QuasiNewtonLBFGS\") " + lines);
    return partOf(planOf(input).front(), "optimizer");
  };
  const double one = vectors("(LBFGSUpdateAccuracy 0)") / 5; // position and four vectors

  EXPECT_EQ(vectors("(MaximumNumberOfIterations 50) (LBFGSUpdateAccuracy 3)"), one * (5 + 2 * 3));
  EXPECT_EQ(vectors("(MaximumNumberOfIterations 2) (LBFGSUpdateAccuracy 3)"), one * (5 + 2 * 2));
}

TEST(StageMemory, AMaskThatIsReadLimitsTheVoxels)
{
  DrawnStage<3> input = stageInput<3>({40, 30, 20}, "(ErodeMask \"false\")");
  const ImageGeometry<3> geometry = input.fixed.front()->geometry;
  input.fixedMasks = {
      std::make_shared<Mask<3>>(drawMask<3>(geometry, [](const Vec<3>& p) { return std::abs(p[2]) < 4; }))};
  StageInput<3> unread = input;
  unread.fixedMasks.front() = std::make_shared<Mask<3>>(geometry, std::vector<std::uint8_t>{});

  const LevelPlan known = planOf(input).front();
  const LevelPlan unknown = planStage<3>(allComponents(), input.prepared(), unread, unlimited).front();

  const double slice = 40 * 30,
               arrays = 4 * (1 + 3 + 1 + 1) + 1; // fixed intensities too: voxels of a part of the image
                                                 // lie apart; whether the mask has them
  EXPECT_EQ(partOf(known, "masks"), 20 * slice);
  EXPECT_LE(partOf(known, "samples"), arrays * slice * 10 + results) << "8 slices, and one more at each side";
  EXPECT_GE(partOf(known, "samples"), arrays * slice * 8);
  EXPECT_NEAR(partOf(unknown, "samples"), arrays * slice * 20, results);
}

TEST(StageMemory, WhatDoesNotFitGoesInAsFewSlabsAsFit)
{
  const DrawnStage<3> input = stageInput<3>({100, 90, 64}, "");
  const LevelPlan whole = planOf(input).front();
  const double samples = partOf(whole, "samples"), rest = whole.memory.bytes() - samples;

  const LevelPlan halves = planOf(input, rest + 0.6 * samples).front();
  EXPECT_EQ(halves.slabs, 2u);
  EXPECT_TRUE(halves.fits());
  EXPECT_NEAR(partOf(halves, "samples"), samples / 2, results);

  const LevelPlan many = planOf(input, rest + 0.11 * samples).front(); // 7 of 64 slices
  EXPECT_TRUE(many.fits());
  EXPECT_EQ((64 + many.slabs - 1) / many.slabs, 7u);

  const LevelPlan none = planOf(input, rest).front();
  EXPECT_FALSE(none.fits());
  EXPECT_EQ(none.slabs, 64u) << "one slice at a time is the least";
}

TEST(StageMemory, SlabsDoNotHelpLists)
{
  const DrawnStage<3> input =
      stageInput<3>({40, 30, 20}, "(ImageSampler \"Random\") (NumberOfSpatialSamples 1000000)");
  const LevelPlan whole = planOf(input).front();

  const LevelPlan plan = planOf(input, 0.5 * whole.memory.bytes()).front();

  EXPECT_FALSE(plan.fits());
  EXPECT_EQ(plan.memory.bytes(), whole.memory.bytes());
}

TEST(StageMemory, TextSaysWhatIsNeededForWhatAndWhatMayBeTaken)
{
  LevelPlan plan;
  plan.memory.add("images", 1.2e9);
  plan.memory.add("samples", 2e9);
  plan.usableBytes = 4e9;

  EXPECT_EQ(planText(plan, 2, "cuda:1"), "level 2: about 3.2 GB of memory of cuda:1 are needed (samples 2.0 "
                                         "GB, images 1.2 GB), 4.0 GB may be taken");
  plan.slabs = 5;
  plan.usableBytes = unlimited;
  EXPECT_EQ(planText(plan, 0, "a CUDA device"), "level 0: about 3.2 GB of memory of a CUDA device are needed "
                                                "in 5 slabs (samples 2.0 GB, images 1.2 GB)");
}

TEST(StageMemory, AChainWhoseParametersAreNotKnownYetIsHeldByItsModel)
{
  const DrawnStage<3> first =
      stageInput<3>({40, 30, 20}, "(Transform \"BSplineTransform\") (FinalGridSpacingInPhysicalUnits 5)");
  StageInput<3> second = stageInput<3>({40, 30, 20}, "");
  second.initial = chainAfter<3>(first.prepared(), first);
  const auto prepared = prepareStage<3>(allComponents(), stageParameters(stageText(""), 3));

  const LevelPlan plan = planStage<3>(allComponents(), prepared, second, unlimited).front();

  EXPECT_EQ(partOf(plan, "transform"), 8.0 * 3 * (8 + 3) * (6 + 3) * (4 + 3));
}

}
}
