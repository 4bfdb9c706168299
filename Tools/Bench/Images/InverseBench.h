#pragma once

#include "Core/Compute/Context.h"
#include "Core/Registry/Registry.h"
#include "Tools/Bench/BenchReport.h"

#include <array>
#include <vector>

namespace tessera {

/// The settings of measuring the inverse of a B-spline after an affine transform at every voxel.
struct InverseSettings {
  std::vector<std::array<int, 3>> volumes; // voxels
  std::vector<double> tiles;               // voxels between control points
  std::size_t repeats = 11;
};

/// The largest error is the residual |T(root) - y| in voxels.
std::vector<BenchResult> inverseBench(const Registry&, Context&, const InverseSettings&);

}
