#pragma once

#include "Core/Compute/Context.h"
#include "Core/Registry/Registry.h"
#include "Tools/Bench/BenchReport.h"

#include <string>
#include <vector>

namespace tessera {

/// The settings of measuring how images are resampled onto their own grid, beside ITK's filter with as many
/// threads. Source: D. P. Shamonin, M. Staring: An OpenCL implementation of the Gaussian pyramid and the
/// resampler, 2012, tables 4 to 8.
struct ResampleSettings {
  std::vector<std::vector<std::size_t>> volumes; // two or three extents each
  // Words for benchChain. In brackets, ITK puts even a single transform into a composite.
  std::vector<std::string> transforms;
  std::vector<std::string> interpolators; // nearest, linear or cubic
  bool withItk = true;
  std::size_t repeats = 11;
};

/// The extents in a text such as "256x256" or "512x512x256". Throws Error(usage).
std::vector<std::size_t> extentsOf(const std::string& text);

/// Measures all volumes. Each case has rows "whole" (from host memory to host memory; on CUDA from pageable
/// and from pinned memory, and to pixels of two bytes), rows of its parts (with shares relative to a copy of
/// 4 bytes for each voxel), and "ITK". The ratio is ITK's time to this time. Errors are relative to the
/// intensity range, over the voxels that both put inside the image. Mismatches are voxels that only one of
/// them puts inside and, for the nearest voxel, voxels with different intensities.
std::vector<BenchResult> resampleBench(const Registry&, Context&, const ResampleSettings&);

}
