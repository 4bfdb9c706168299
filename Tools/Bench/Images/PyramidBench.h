#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/BenchReport.h"

#include <vector>

namespace tessera {

/// The settings of measuring filters along lines and Gaussian pyramids of four levels (factors 8 4 2 1,
/// sigmas 4 2 1 0 voxels), beside ITK's own filters with as many threads. Source: D. P. Shamonin, M. Staring:
/// An OpenCL implementation of the Gaussian pyramid and the resampler, 2012, tables 2 and 3.
struct PyramidSettings {
  std::vector<std::vector<std::size_t>> volumes; // two or three extents each
  bool withItk = true;
  std::size_t repeats = 11;
};

/// Measures all volumes. On CUDA, a filter's row has the time of its kernels; a pyramid has rows for its
/// kernels, and from host memory to host memory with pinned and with pageable memory. Bytes and shares count
/// one read and one write for each pass. Errors are relative to the intensity range; the ratio is ITK's time
/// to this time.
std::vector<BenchResult> pyramidBench(Context&, const PyramidSettings&);

}
