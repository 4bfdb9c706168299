#include "Core/Registration/Stage/Remedy.h"

#include "Testing/Support/ErrorText.h"

namespace tessera {
namespace {

std::string remedy(const Motion& motion)
{
  return remedyFor({.asGiven = motion, .atLevel = motion, .diagonalOfFixedMm = 100});
}

TEST(Remedy, IsTheOneForWhatWasMeasured)
{
  Motion motion{.insideAtStart = 0.1, .insideIfCentred = 0.9};
  EXPECT_EQ(remedy(motion),
            "The images hardly overlap at the start of the stage: 10.0 % of the points of the fixed image "
            "(and mask) map into the moving image. Remedy: (AutomaticTransformInitialization \"true\"), "
            "which puts the images' centres together; then it is 90.0 %");
  EXPECT_EQ(remedyFor({.asGiven = motion, .atLevel = motion, .diagonalOfFixedMm = 100, .canCentre = false}),
            "The images hardly overlap at the start of the stage: 10.0 % of the points of the fixed image "
            "(and mask) map into the moving image. Remedy: a first stage of a linear transform, without -t0, "
            "with (AutomaticTransformInitialization \"true\"), which puts the images' centres together; then "
            "it is 90.0 %");
  motion.insideIfCentred = 0.2;
  EXPECT_EQ(
      remedy(motion),
      "The images hardly overlap at the start of the stage: 10.0 % of the points of the fixed image (and "
      "mask) map into the moving image. Remedy: -t0 with a start that is nearer, or images of the same part: "
      "with the images' centres put together (AutomaticTransformInitialization) it is 20.0 %");
  motion.insideAtStart = 1;
  motion.inMaskAtStart = 0.05;
  EXPECT_EQ(remedy(motion),
            "The moving mask is too small: at the start of the stage 100.0 % of the points of the fixed "
            "image (and mask) map into the moving image, 5.0 % into its mask. Remedy: a larger moving mask "
            "or none, or a mask of the same part of the fixed image");
  EXPECT_EQ(
      remedyFor({.asGiven = motion, .atLevel = motion, .diagonalOfFixedMm = 100, .movingMaskIsGiven = false}),
      "Too few voxels of the moving image have a value: at the start of the stage 100.0 % of the points of "
      "the fixed image (and mask) map into the moving image, 5.0 % to voxels with one. Remedy: images of the "
      "same part");
  motion.inMaskAtStart = 0.95;
  motion.inMaskAtEnd = 0.2;
  motion.foldedAtEnd = 0.3;
  motion.meanMm = 10;
  EXPECT_EQ(remedy(motion),
            "The transform has folded at 30.0 % of the points of the fixed image (and mask). Remedy: a "
            "coarser grid (FinalGridSpacingInPhysicalUnits) or a penalty on bending");
  motion.meanMm = 40; // no grid leads so far
  EXPECT_EQ(remedy(motion), "The steps are too long: the points moved 40.0 mm on average since the start of "
                            "the stage, where 95.0 % were inside, and the transform has folded. Remedy: a "
                            "smaller MaximumStepLength, or SP_a of an optimizer that has none");
  motion.foldedAtEnd = 0;
  EXPECT_EQ(remedy(motion),
            "The steps are too long: the points moved 40.0 mm on average since the start of the stage, where "
            "95.0 % were inside. Remedy: a smaller MaximumStepLength, or SP_a of an optimizer that has none");
  motion.meanMm = 1;
  EXPECT_EQ(remedy(motion), "The points hardly moved (1.0 mm on average): 95.0 % were inside at the start of "
                            "the stage, 20.0 % are now. Remedy: a smaller RequiredRatioOfValidSamples");
}

TEST(Remedy, OfADivergenceIsTheOneForWhatWasMeasured)
{
  Motion motion;
  motion.meanMm = 20;
  motion.insideAtStart = motion.insideAtEnd = 0.9;
  EXPECT_EQ(remedyOfDivergence(motion, 100),
            "Remedy: a smaller MaximumStepLength, or SP_a of an optimizer that has none; or a narrower range "
            "of an optimizer that searches one");
  motion.insideAtEnd = 0.2;
  EXPECT_EQ(remedyOfDivergence(motion, 100),
            "Remedy: a smaller MaximumStepLength, or SP_a of an optimizer that has none; or, if the images "
            "share so small a part, a RequiredRatioOfValidSamples below it");
  motion.foldedAtEnd = 0.05;
  EXPECT_EQ(remedyOfDivergence(motion, 100),
            "The transform has folded at 5.0 % of the points. Remedy: a coarser grid "
            "(FinalGridSpacingInPhysicalUnits) or a penalty on bending");
  EXPECT_TRUE(remedyOfDivergence(motion, 70).starts_with("Remedy: a smaller MaximumStepLength"))
      << "points that moved so far were lost before the transform folded";
}

TEST(Remedy, OfAnEmptyLevelIsTheErosionOrTheMask)
{
  Motion asGiven, atLevel;
  asGiven.insideAtStart = atLevel.insideAtStart = 1;
  asGiven.inMaskAtStart = 0.42;
  atLevel.inMaskAtStart = 0.2;
  EXPECT_EQ(remedyFor({.asGiven = asGiven, .atLevel = atLevel, .diagonalOfFixedMm = 100}),
            "The erosion of the moving mask for this level takes the samples: at the start of the stage 42.0 "
            "% of the points of the fixed image (and mask) map into the mask as it was given, 20.0 % into "
            "that of the level. Remedy: (ErodeMovingMask \"false\"), or a larger mask");
  atLevel = asGiven;
  EXPECT_EQ(
      remedyFor({.asGiven = asGiven, .atLevel = atLevel, .diagonalOfFixedMm = 100, .anyIsValid = false}),
      "The points hardly moved (0.0 mm on average): 42.0 % were inside at the start of the stage, 0.0 % are "
      "now. Remedy: larger masks or none, or more samples (NumberOfSpatialSamples)");
}

TEST(Remedy, NamesTheSpacingThatTheFileHas)
{
  Motion motion;
  motion.insideAtStart = motion.inMaskAtStart = 1;
  motion.foldedAtEnd = 0.3;
  EXPECT_PRED2(testing::contains,
               remedyFor({.asGiven = motion,
                          .atLevel = motion,
                          .diagonalOfFixedMm = 100,
                          .gridSpacing = "FinalGridSpacingInVoxels"}),
               "a coarser grid (FinalGridSpacingInVoxels)");
}

}
}
