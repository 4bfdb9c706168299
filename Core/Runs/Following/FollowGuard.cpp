#include "Core/Runs/Following/FollowGuard.h"

#include "Core/Compute/Log.h"

#include <cmath>

namespace tessera {
namespace {

std::string percent(double share)
{
  return decimals(100 * share, 1) + " %";
}

}

std::string FollowGuard::whyCold(const FitOfImages& before, double coarsestVoxelMm,
                                 const std::function<FitOfImages()>& whereTheyLie) const
{
  const double limitMm = limits.left * coarsestVoxelMm, now = std::abs(before.correlation);
  if (last && before.overlap < limits.keptOverlap * last->overlap)
    return percent(before.overlap) + " of the fixed image map into this one, " + percent(last->overlap)
           + " did in the last update";
  if (last && now < limits.keptCorrelation * std::abs(last->correlation))
    return "the images correlate by " + decimals(now, 3) + " at the last transform, "
           + decimals(std::abs(last->correlation), 3) + " in the last update";
  if (before.leftMm > limitMm)
    return "about " + decimals(before.leftMm, 1) + " mm are left to move, more than " + decimals(limitMm, 1);
  if (before.folded > limits.folded)
    return "the last transform folds " + percent(before.folded) + " of the image";
  if (last && now + limits.better >= 1) // nothing can be better
    return "";
  const double there = std::abs(whereTheyLie().correlation);
  if (there > now + limits.better || (!last && 1 - now > limits.worse * (1 - there)))
    return "the images correlate by " + decimals(there, 4) + " where they lie, " + decimals(now, 4)
           + " at the last transform";
  return "";
}

std::string FollowGuard::whyFolded(const FitOfImages& after) const
{
  return after.folded > limits.folded ? "the update folded " + percent(after.folded) + " of the image" : "";
}

std::string FollowGuard::whyWorse(const FitOfImages& before, const FitOfImages& after) const
{
  const double now = std::abs(after.correlation);
  if (after.overlap < limits.keptOverlap * before.overlap)
    return "after the update " + percent(after.overlap) + " of the fixed image map into this one, "
           + percent(before.overlap) + " before it";
  if (now < limits.reached * correlationOfCold)
    return "the update reached a correlation of " + decimals(now, 3) + ", the last one that began anew "
           + decimals(correlationOfCold, 3);
  return "";
}

}
