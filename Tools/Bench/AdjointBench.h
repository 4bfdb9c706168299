#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/BenchReport.h"

#include <array>
#include <vector>

namespace tessera {

/// The gradient of the control points of a dense cubic B-spline field from one covector a voxel, with every
/// summation of the device, beside a copy.
struct AdjointSettings {
  std::vector<std::array<int, 3>> volumes; // voxels
  std::vector<double> tiles;               // grid spacing in voxels
  std::size_t repeats = 11;
};

std::vector<BenchResult> adjointBench(Context&, const AdjointSettings&);

}
