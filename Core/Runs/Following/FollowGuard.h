#pragma once

#include "Core/Runs/Following/FollowLook.h"

#include <functional>
#include <optional>
#include <string>

namespace tessera {

/// When an update does not go on from the last one. A look at the coarsest level decides.
struct FollowLimits {
  // Shares of what the last update had, at the last transform and before anything is optimized; the overlap
  // also after an update, of that before it.
  double keptOverlap = 0.8, keptCorrelation = 0.9;
  double better = 0.05;  // by how much the images may correlate better where they lie than at that transform
  double left = 2;       // what is left to move, in voxels of the coarsest level
  double folded = 0.01;  // share of the points, before and after
  double reached = 0.85; // share of the correlation of the last update that began anew, after an update
  // By which factor images may be farther from a correlation of 1 at a start that was given than where they
  // lie. How well they fitted there before is not known.
  double worse = 1.4;
};

/// Compares how images fit. Each answer says why a result does not hold; empty: it does.
struct FollowGuard {
  FollowLimits limits;
  std::optional<FitOfImages> last; // of the last update; none: not known, as of a start that was given
  double correlationOfCold = 0;    // after the last update that began anew
  std::string doubt; // of the last result, which could not be replaced by a better one; empty: none

  /// At the last transform, before an update. `coarsestVoxelMm`: the mean edge of a voxel of the coarsest
  /// level. `whereTheyLie` looks at the images at the initial transform.
  std::string whyCold(const FitOfImages& before, double coarsestVoxelMm,
                      const std::function<FitOfImages()>& whereTheyLie) const;
  std::string whyFolded(const FitOfImages&) const;
  /// After an update: what it lost of the overlap before it, or lacks of the correlation of the last cold
  /// one.
  std::string whyWorse(const FitOfImages& before, const FitOfImages& after) const;
};

}
