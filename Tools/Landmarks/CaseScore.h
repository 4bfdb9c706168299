#pragma once

#include "Core/Compute/Log.h"
#include "Core/Compute/Math/ErrorStatistics.h"
#include "Core/Image/Points/PointsOutside.h"
#include "Core/Registry/Registry.h"
#include "Core/Runs/VolumeChange.h"
#include "Tools/Landmarks/ScoreOptions.h"

#include <optional>

namespace tessera {

/// A landmark of a case; each vector has the case's dimension.
struct ScoredPoint {
  std::string name;                                // of the file, or its number from 1
  std::vector<double> fixedMm, movingMm, mappedMm; // mappedMm is not rounded
  double beforeMm = 0, afterMm = 0;                // distances, by the convention
};

/// The score of a case. Nothing after: neither a transform nor mapped points are given.
struct CaseScore {
  std::string id;
  int dimension = 3;
  ErrorStatistics before;
  std::optional<ErrorStatistics> after;
  // Errors are also divided by this diagonal of the fixed image (BIRL calls them rTRE); empty without a grid
  // of the fixed image.
  std::optional<double> diagonalMm;
  std::optional<VolumeChange> volumes; // with -tp, of a transform that is not linear
  std::optional<double> determinant;   // of the spatial Jacobian, with -tp, of a linear transform
  SharesOutside pointsOutside;         // of the images whose grids are known
  std::vector<ScoredPoint> points;
};

/// Scores a case. Throws Error.
CaseScore scoreCase(const ScoreCase&, bool isRounded, int threads, const Registry&, Log&);

}
