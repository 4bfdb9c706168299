#pragma once

#include "Core/Registration/Stage/LevelPlan.h"
#include "Core/Registration/Stage/StageComponents.h"

#include <vector>

namespace tessera {

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
