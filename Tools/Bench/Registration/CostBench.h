#pragma once

#include "Core/Compute/Context.h"
#include "Core/Registry/Registry.h"
#include "Tools/Bench/BenchReport.h"

#include <array>

namespace tessera {

struct CostSettings {
  std::vector<std::array<int, 3>> volumes; // in voxels
  std::vector<double> tiles;               // spacing of control points in voxels
  std::vector<std::string> metrics;
  int bins = 64;
  std::size_t repeats = 11;
  double sigma = 0; // of Gaussian windows, in samples; 0: box windows
};

/// Measures evaluations of a dense cost: all voxels of a fixed image, a cubic B-spline transform along its
/// axes, linear interpolation; the value alone, and value with gradient; on noise, and on noise in a ball
/// with a constant background. Then the parts of one more evaluation with its gradient. Shares are relative
/// to the time in which the device copies both images.
std::vector<BenchResult> costBench(const Registry&, Context&, const CostSettings&);

}
