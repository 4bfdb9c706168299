#pragma once

#include "Core/Compute/Context.h"
#include "Core/Registry/Registry.h"
#include "Tools/Bench/BenchReport.h"

#include <string>
#include <vector>

namespace tessera {

/// Images resampled onto their own grid, beside ITK's resampling filter with as many threads (Shamonin and
/// Staring, "An OpenCL implementation of the Gaussian pyramid and the resampler", 2012, tables 4 to 8).
struct ResampleSettings {
  std::vector<std::vector<std::size_t>> volumes; // two or three extents each
  std::vector<std::string>
      transforms; // words as benchChain takes them; in brackets in a composite of ITK, if alone too
  std::vector<std::string> interpolators; // nearest, linear, cubic
  bool withItk = true;
  std::size_t repeats = 11;
};

/// Extents of "256x256" or "512x512x256". Throws Error(usage).
std::vector<std::size_t> extentsOf(const std::string& text);

/// Rows of a case: "whole" from voxels on the host to voxels on the host, its ratio that of ITK's time, on
/// CUDA from pageable and from pinned memory, and to pixels of two bytes; its parts, as shares of a copy of
/// one voxel read and one written; "ITK". Errors are of the intensity range, over the voxels that both call
/// inside; mismatches are voxels that only one calls inside and, for the nearest voxel, other intensities.
std::vector<BenchResult> resampleBench(const Registry&, Context&, const ResampleSettings&);

}
