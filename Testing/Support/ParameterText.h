#pragma once

#include "Core/Parameters/Parameters.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::testing {

/// The parameters that a component labelled `label` sees of a text.
inline Parameters parametersOf(const std::string& text, std::size_t dimension = 3, std::size_t levelCount = 1,
                               const std::string& label = "Optimizer0")
{
  std::vector<std::string> notes;
  return Parameters(std::make_shared<ParameterMap>(parseParameterText(text, "text", notes)), label, dimension,
                    levelCount);
}

}
