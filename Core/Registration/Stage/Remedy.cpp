#include "Core/Registration/Stage/Remedy.h"

#include <cstdio>

namespace tessera {
namespace {

constexpr double clearlyFolded = 0.01; // share of the points
/// No registration moves the points by so large a share of the fixed image's diagonal on average. If they
/// moved farther, too long steps are named as the cause, even if the transform has folded.
constexpr double lostFrom = 0.25;

std::string percent(double share)
{
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

std::string millimetres(double mm)
{
  char text[32];
  std::snprintf(text, sizeof text, "%.1f mm", mm);
  return text;
}

constexpr const char* noFolds = "a coarser grid (FinalGridSpacingInPhysicalUnits) or a penalty on bending";
constexpr const char* shorterSteps = "a smaller MaximumStepLength, or SP_a of an optimizer that has none";

/// Whether folds are the cause, and not steps that are too long.
bool hasFolded(const Motion& motion, double diagonalOfFixedMm)
{
  return motion.foldedAtEnd > clearlyFolded && motion.meanMm <= lostFrom * diagonalOfFixedMm;
}

}

std::string remedyFor(const Motion& motion, double diagonalOfFixedMm, bool canCentre)
{
  const std::string points = " of the points of the fixed image (and mask)";
  if (motion.insideAtStart < fewInside)
    return "The images hardly overlap at the start of the stage: " + percent(motion.insideAtStart) + points
           + " map into the moving image. Remedy: "
           + (motion.insideIfCentred >= fewInside
                  ? std::string(canCentre ? ""
                                          : "a first stage of a linear "
                                            "transform, without -t0, with ")
                        + "(AutomaticTransformInitialization \"true\"), which puts "
                          "the images' centres together; then it is "
                        + percent(motion.insideIfCentred)
                  : "-t0 with a start that is nearer, or images of the same "
                    "part: with the images' centres put "
                    "together (AutomaticTransformInitialization) it is "
                        + percent(motion.insideIfCentred));
  if (motion.inMaskAtStart < fewInside)
    return "The moving mask is too small: at the start of the stage " + percent(motion.insideAtStart) + points
           + " map into the moving image, " + percent(motion.inMaskAtStart)
           + " into its mask. Remedy: a larger moving mask or none, or a mask of the same part of the fixed "
             "image";
  const bool isFolded = motion.foldedAtEnd > clearlyFolded;
  if (hasFolded(motion, diagonalOfFixedMm))
    return "The transform has folded at " + percent(motion.foldedAtEnd) + points + ". Remedy: " + noFolds;
  if (motion.meanMm > farAway * diagonalOfFixedMm)
    return "The steps are too long: the points moved " + millimetres(motion.meanMm)
           + " on average since the start of the stage, where " + percent(motion.inMaskAtStart)
           + " were inside" + (isFolded ? ", and the transform has folded" : "")
           + ". Remedy: " + shorterSteps;
  return "The points hardly moved (" + millimetres(motion.meanMm)
         + " on average): " + percent(motion.inMaskAtStart) + " were inside at the start of the stage, "
         + percent(motion.inMaskAtEnd) + " are now. Remedy: a smaller RequiredRatioOfValidSamples";
}

std::string remedyOfDivergence(const Motion& motion, double diagonalOfFixedMm)
{
  if (hasFolded(motion, diagonalOfFixedMm))
    return "The transform has folded at " + percent(motion.foldedAtEnd)
           + " of the points. Remedy: " + noFolds;
  if (motion.insideAtEnd < motion.insideAtStart / 2)
    return std::string("Remedy: ") + shorterSteps
           + "; or, if the images share so small a part, a RequiredRatioOfValidSamples below it";
  return std::string("Remedy: ") + shorterSteps + "; or a narrower range of an optimizer that searches one";
}

}
