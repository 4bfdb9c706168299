#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/Model/KernelCost.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tessera {

/// A kernel with arrays to work on, for the benchmark of the performance model.
struct ModelCase {
  std::string kernel, size; // "warp", "192x192x192"
  double items = 0;
  std::vector<int> blockThreads; // block sizes to compare; BlockThreads sets them
  std::function<void()> run;
  /// The launches of a run, whose times add up.
  std::function<std::vector<KernelLaunch>()> launches;
  /// Runs the kernel on fresh arrays and returns the bits of its result.
  std::function<std::vector<std::uint32_t>()> result;
  double bytesUp = 0, bytesDown = 0; // of arrays that come from the host, and of those that go back
};

/// The sizes of the table.
inline std::vector<std::array<int, 3>> modelVolumes()
{
  return {{96, 96, 96}, {192, 192, 192}, {352, 320, 288}};
}

/// The names of the kernels, in the order of the table, without those that must be asked for by name: the sum
/// over 300 landmarks from global and from shared memory (globallandmarks, sharedlandmarks).
std::vector<std::string> modelKernels();

/// Makes the arrays of a kernel for a volume. Throws Error(outOfMemory).
ModelCase modelCase(Context&, const std::string& kernel, const std::array<int, 3>& volume);

}
