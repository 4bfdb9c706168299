#include "Core/Registration/Stage/Remedy.h"

#include "Core/Compute/Log.h"

namespace tessera {
namespace {

constexpr double clearlyFolded = 0.01; // share of the points
/// No registration moves the points by so large a share of the fixed image's diagonal on average. If they
/// moved farther, too long steps are named as the cause, even if the transform has folded.
constexpr double lostFrom = 0.25;

std::string percent(double share)
{
  return decimals(100 * share, 1) + " %";
}

std::string millimetres(double mm)
{
  return decimals(mm, 1) + " mm";
}

constexpr const char* shorterSteps = "a smaller MaximumStepLength, or SP_a of an optimizer that has none";

std::string remedyOfFolds(const std::string& gridSpacing)
{
  return "a coarser grid (" + gridSpacing + ") or a penalty on bending";
}

/// Whether folds are the cause, and not steps that are too long.
bool hasFolded(const Motion& motion, double diagonalOfFixedMm)
{
  return motion.foldedAtEnd > clearlyFolded && motion.meanMm <= lostFrom * diagonalOfFixedMm;
}

}

std::string remedyFor(const FewSamples& few)
{
  const Motion& motion = few.atLevel;
  const std::string points = " of the points of the fixed image (and mask)";
  if (motion.insideAtStart < fewInside)
    return "The images hardly overlap at the start of the stage: " + percent(motion.insideAtStart) + points
           + " map into the moving image. Remedy: "
           + (motion.insideIfCentred >= fewInside
                  ? std::string(few.canCentre ? ""
                                              : "a first stage of a linear transform, without -t0, with ")
                        + "(AutomaticTransformInitialization \"true\"), which puts the images' centres "
                          "together; then it is "
                        + percent(motion.insideIfCentred)
                  : "-t0 with a start that is nearer, or images of the same part: with the images' centres "
                    "put together (AutomaticTransformInitialization) it is "
                        + percent(motion.insideIfCentred));
  if (few.asGiven.inMaskAtStart < fewInside && !few.movingMaskIsGiven)
    return "Too few voxels of the moving image have a value: at the start of the stage "
           + percent(few.asGiven.insideAtStart) + points + " map into the moving image, "
           + percent(few.asGiven.inMaskAtStart) + " to voxels with one. Remedy: images of the same part";
  if (few.asGiven.inMaskAtStart < fewInside)
    return "The moving mask is too small: at the start of the stage " + percent(few.asGiven.insideAtStart)
           + points + " map into the moving image, " + percent(few.asGiven.inMaskAtStart)
           + " into its mask. Remedy: a larger moving mask or none, or a mask of the same part of the fixed "
             "image";
  if (motion.inMaskAtStart < fewInside)
    return "The erosion of the moving mask for this level takes the samples: at the start of the stage "
           + percent(few.asGiven.inMaskAtStart) + points + " map into the mask as it was given, "
           + percent(motion.inMaskAtStart)
           + " into that of the level. Remedy: (ErodeMovingMask \"false\"), or a larger mask";
  const bool isFolded = motion.foldedAtEnd > clearlyFolded;
  if (hasFolded(motion, few.diagonalOfFixedMm))
    return "The transform has folded at " + percent(motion.foldedAtEnd) + points
           + ". Remedy: " + remedyOfFolds(few.gridSpacing);
  if (motion.meanMm > farAway * few.diagonalOfFixedMm)
    return "The steps are too long: the points moved " + millimetres(motion.meanMm)
           + " on average since the start of the stage, where " + percent(motion.inMaskAtStart)
           + " were inside" + (isFolded ? ", and the transform has folded" : "")
           + ". Remedy: " + shorterSteps;
  return "The points hardly moved (" + millimetres(motion.meanMm)
         + " on average): " + percent(motion.inMaskAtStart) + " were inside at the start of the stage, "
         + percent(motion.inMaskAtEnd) + " are now. Remedy: "
         + (few.anyIsValid ? "a smaller RequiredRatioOfValidSamples"
                           : "larger masks or none, or more samples (NumberOfSpatialSamples)");
}

std::string remedyOfDivergence(const Motion& motion, double diagonalOfFixedMm)
{
  if (hasFolded(motion, diagonalOfFixedMm))
    return "The transform has folded at " + percent(motion.foldedAtEnd)
           + " of the points. Remedy: " + remedyOfFolds("FinalGridSpacingInPhysicalUnits");
  if (motion.insideAtEnd < motion.insideAtStart / 2)
    return std::string("Remedy: ") + shorterSteps
           + "; or, if the images share so small a part, a RequiredRatioOfValidSamples below it";
  return std::string("Remedy: ") + shorterSteps + "; or a narrower range of an optimizer that searches one";
}

}
