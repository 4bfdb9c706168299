#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/BenchReport.h"

#include <array>
#include <string>
#include <vector>

namespace tessera {

class Registry;

/// Dense cubic B-spline fields from their control points, by every method of FieldInterpolator, beside a fill
/// and a copy.
struct BsiSettings {
  std::vector<std::array<int, 3>> volumes; // voxels
  std::vector<double> tiles;               // grid spacing in voxels
  std::vector<std::string> methods;        // empty: all of the device
  bool layouts = false;                    // interleaved and padded beside planar
  std::size_t repeats = 11;
};

std::vector<BenchResult> bsiBench(const Registry&, Context&, const BsiSettings&);

}
