#pragma once

#include "Core/Compute/Cuda/LaunchShape.h"
#include "Tools/Bench/BenchReport.h"

#include <string>
#include <vector>

// Tables of what limits the methods of dense cubic B-spline fields. Source: O. Zachariadis et al.:
// Accelerating B-spline interpolation on GPUs, 2020; O. Zachariadis: doctoral thesis, section 2.5 and
// figures 2.8 to 2.13.
namespace tessera {

/// A method on a volume, as it was measured. `result` has its time.
struct MeasuredField {
  std::string method;
  double tile = 0; // voxels
  BenchResult result;
  double fillMs = 0;  // a fill of the same bytes
  LaunchShape launch; // on CUDA
};

/// A row for each tile: the words of 32 bits that a voxel and component moves by the four schemes,
/// equations 2.2 to 2.5 of the thesis with blocks of 4 x 4 x 4 tiles, times L and divided by M, and how many
/// times less the last one is.
BenchTable trafficTable(const std::vector<double>& tiles);

/// A row for each of the eight methods at each tile and volume: operations and words by formula, registers
/// and active warps as the driver says, rates beside the machine's. `peakSingle` is 0 where it is not known.
/// Methods that were not measured have a row without numbers of the device.
BenchTable limitsTable(const std::vector<double>& tiles, const std::vector<MeasuredField>&,
                       double peakSingle);

/// A row for each tile and method: mean and deviation, over the volumes, of ns a voxel and of the ratio.
BenchTable volumesTable(const std::vector<MeasuredField>&);

}
