#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/BenchReport.h"

#include <array>
#include <vector>

namespace tessera {

/// The settings of measuring landmarks: 4000 tracked by structure tensors in 25x13x17 candidates of an image
/// of 256x256x94 voxels, images compared, splines fitted, and the displacements of splines on whole lattices.
struct LandmarkSettings {
  std::vector<std::array<int, 3>> volumes; // lattices of fields, in voxels of 1 mm
  std::size_t repeats = 11;
};

/// Errors of fields are those against the spline in double precision, in mm, at 4000 voxels; mismatches of
/// tracking are landmarks that miss a planted shift.
std::vector<BenchResult> landmarkBench(Context&, const LandmarkSettings&);

}
