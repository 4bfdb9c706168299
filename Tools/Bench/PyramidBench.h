#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/BenchReport.h"

#include <vector>

namespace tessera {

/// Filters along lines and Gaussian pyramids of four levels (factors 8 4 2 1, sigmas 4 2 1 0 voxels), beside
/// ITK's own filters with as many threads (Shamonin and Staring, "An OpenCL implementation of the Gaussian
/// pyramid and the resampler", 2012, tables 2 and 3).
struct PyramidSettings {
  std::vector<std::vector<std::size_t>> volumes; // two or three extents each
  bool withItk = true;
  std::size_t repeats = 11;
};

/// A filter's row is its kernels alone on CUDA. A pyramid's rows there are "kernels", and from voxels on the
/// host to voxels on the host, pinned and pageable. Bytes and shares are those of the passes that are needed:
/// one read and one write each. Errors are of the intensity range, ratios of ITK's time.
std::vector<BenchResult> pyramidBench(Context&, const PyramidSettings&);

}
