#pragma once

#include "Core/Parameters/ParameterInfo.h"
#include "Core/Parameters/ParameterMap.h"

#include <string>
#include <vector>

namespace tessera {

/// A component that a parameter text chose, under the labels by which its parameters may be prefixed ("Metric0").
struct ChosenComponent {
  std::string label;
  const ComponentDescription* description = nullptr;
};

struct CheckReport {
  std::vector<std::string> warnings;   // nobody reads it: file, line, name, nearest known name
  std::vector<std::string> notes;      // known to elastix or to a component that was not chosen, not needed here
};

/// Finds the parameters of `map` that no chosen component reads, and checks type, choices and bounds of those that are read,
/// before anything runs. `known` is every component's description, for notes and for the nearest name.
/// Throws Error(usage) on a value of the wrong type or outside its bounds.
CheckReport checkParameters(const ParameterMap& map, const std::vector<ChosenComponent>& chosen,
                            const std::vector<const ComponentDescription*>& known);

/// The candidate nearest to `name` by edit distance, or empty if none is near.
std::string nearestName(const std::string& name, const std::vector<std::string>& candidates);

}
