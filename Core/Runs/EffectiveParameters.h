#pragma once

#include "Core/Parameters/ParameterMap.h"
#include "Core/Registry/Registry.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// A parameter that a component of a stage reads.
struct EffectiveParameter {
  std::string name; // with the label before it if the file has it so
  std::vector<std::string> values;
  bool isGiven = false; // otherwise it is the default
};

/// Every parameter that a component of the stage reads, by name. Throws the errors of chosenComponents.
std::vector<EffectiveParameter> effectiveParameters(const Registry&,
                                                    const std::shared_ptr<const ParameterMap>& text);

}
