#pragma once

#include "Core/Compute/Memory/DeviceMemory.h"

#include <cstddef>
#include <string>

namespace tessera {

/// How a level will run on a CUDA device, and in how much of its memory.
struct LevelPlan {
  DeviceMemory memory;    // an upper bound of the memory that the level takes
  std::size_t slabs = 1;  // TermLevel::slabs
  double usableBytes = 0; // bytes that the device had for plans when the level was planned
  // Whether the images at full resolution stay there from the first level to the last, so that they are
  // copied once.
  bool keepsOriginals = false;

  bool fits() const { return memory.bytes() <= usableBytes; }
};

/// "level 2: about 3.2 GB of memory of cuda:0 are needed in 4 slabs (samples 1.3 GB, ...), 12.1 GB may be
/// taken"
std::string planText(const LevelPlan&, std::size_t level, const std::string& device);

}
