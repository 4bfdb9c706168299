#pragma once

#include <string>

namespace tessera {

/// What images may take of memory.
struct MemoryBudget {
  double bytes;
  std::string text; // for messages: "--max-memory gives 7 MB"

  /// By --max-memory, or, if that is 0, by what is free.
  explicit MemoryBudget(double maxMemory);
};

/// What a component of an image takes before it is resampled: an intensity and a coefficient a voxel.
constexpr double movingVoxelBytes = 8;

}
