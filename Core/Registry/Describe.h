#pragma once

#include "Core/Parameters/ParameterInfo.h"

#include <string>

namespace tessera {

/// The text of `tessera --describe NAME`: how to choose the component, and a table of its parameters with
/// aligned columns: name, default, values (type, count, unit, bounds, choices), meaning.
std::string describeComponent(const ComponentDescription& component);

/// The same as a section of a reference page in Markdown.
std::string describeAsMarkdown(const ComponentDescription& component);

}
