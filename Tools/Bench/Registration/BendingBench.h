#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/BenchReport.h"

#include <array>
#include <vector>

namespace tessera {

/// The settings of measuring value and gradient of the exact bending energy of cubic grids, beside a copy of
/// the coefficients.
struct BendingSettings {
  std::vector<std::array<int, 3>> grids; // sizes in control points
  std::size_t repeats = 11;
};

std::vector<BenchResult> bendingBench(Context&, const BendingSettings&);

}
