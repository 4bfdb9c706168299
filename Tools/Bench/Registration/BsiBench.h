#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/BenchReport.h"

#include <array>
#include <string>
#include <vector>

namespace tessera {

class Registry;

/// The settings of measuring dense cubic B-spline fields by every FieldInterpolator, beside a fill and a
/// copy.
struct BsiSettings {
  std::vector<std::array<int, 3>> volumes; // in voxels
  std::vector<double> tiles;               // spacing of control points in voxels
  std::vector<std::string> methods;        // empty: all methods of the device
  bool layouts = false;                    // measure interleaved and padded fields, too
  std::size_t repeats = 11;
};

std::vector<BenchResult> bsiBench(const Registry&, Context&, const BsiSettings&);

}
