#pragma once

#include "Core/Parameters/Parameters.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera::testing {

/// The parameters of a text, which messages call `name`.
inline std::shared_ptr<const ParameterMap> mapOf(const std::string& text, const std::string& name = "text")
{
  std::vector<std::string> notes;
  return std::make_shared<ParameterMap>(parseParameterText(text, name, notes));
}

/// The parameters of a text that a component labelled `label` sees.
inline Parameters parametersOf(const std::string& text, std::size_t dimension = 3, std::size_t levelCount = 1,
                               const std::string& label = "Optimizer0", Parameters::Warn warn = {})
{
  return Parameters(mapOf(text), label, dimension, levelCount, std::move(warn));
}

}
