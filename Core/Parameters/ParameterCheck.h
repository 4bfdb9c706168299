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
  /// `file:line: (Name value): ...`: parameters that no component reads, with the nearest known name, those
  /// that elastix has not and only a component reads that was not chosen, and blanks inside quotes.
  std::vector<std::string> warnings;

  /// More values than are read, replaced components, and one line for all parameters of elastix that belong
  /// to components that were not chosen, or are not needed here.
  std::vector<std::string> notes;
};

/// Finds the parameters of `map` that no chosen component reads, and checks type, choices and bounds of those
/// that are read, before anything runs. `known` is every component's description, for notes and for the
/// nearest name. Throws Error(usage) on a value of the wrong type or outside its bounds.
CheckReport checkParameters(const ParameterMap& map, const std::vector<ChosenComponent>& chosen,
                            const std::vector<const ComponentDescription*>& known);

}
