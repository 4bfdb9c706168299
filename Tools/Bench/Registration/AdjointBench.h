#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/BenchReport.h"

#include <array>
#include <vector>

namespace tessera {

/// The settings of measuring the adjoint of a dense cubic B-spline field: the gradient by the control points
/// from one covector (gradient by the displacement) for each voxel, by every way of summation that the device
/// has, beside a copy.
struct AdjointSettings {
  std::vector<std::array<int, 3>> volumes; // in voxels
  std::vector<double> tiles;               // spacing of control points in voxels
  std::size_t repeats = 11;
};

std::vector<BenchResult> adjointBench(Context&, const AdjointSettings&);

}
