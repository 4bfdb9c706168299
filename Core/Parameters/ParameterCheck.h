#pragma once

#include "Core/Parameters/ParameterInfo.h"
#include "Core/Parameters/ParameterMap.h"
#include "Core/Parameters/ParameterText.h"

#include <string>
#include <vector>

namespace tessera {

/// A component that a parameter text chose, under the labels by which its parameters may be prefixed
/// ("Metric0").
struct ChosenComponent {
  std::string label;
  const ComponentDescription* description = nullptr;
};

struct CheckReport {
  /// `file:line: (Name value): ...`: nobody reads it, with the nearest known name; blanks inside quotes.
  std::vector<std::string> warnings;

  /// Surplus values of a single one, replaced components, and one line for all names of components that were
  /// not chosen and of elastix that are not needed here.
  std::vector<std::string> notes;
};

/// Finds the parameters of `map` that no chosen component reads, and checks type, choices and bounds of those
/// that are read, before anything runs. `known` is every component's description, for notes and for the
/// nearest name. Throws Error(usage) on a value of the wrong type or outside its bounds.
CheckReport checkParameters(const ParameterMap& map, const std::vector<ChosenComponent>& chosen,
                            const std::vector<const ComponentDescription*>& known);

}
