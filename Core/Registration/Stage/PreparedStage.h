#pragma once

#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Registration/Stage/StageComponents.h"

#include <cstddef>
#include <string>
#include <vector>

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

/// A stage as its parameter text describes it. The check makes it, once; the run then uses it up.
template <int D>
struct PreparedStage {
  Parameters parameters;
  StageComponents<D> components;
  DeviceChoice choice{{}, "cpu"};
  std::vector<LevelPlan> plans =
      {}; // one for each level on a CUDA device; empty: nothing was planned, no slabs
};

/// Constructs the components. Throws the errors of createComponents.
template <int D>
PreparedStage<D> prepareStage(const Registry& registry, const Parameters& parameters)
{
  return {parameters, createComponents<D>(registry, parameters)};
}

}
