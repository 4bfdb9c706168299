#pragma once

#include <functional>
#include <string>

namespace tessera {

/// The texts of the items, textOf(item), with a separator between them.
template <class Items, class TextOf = std::identity>
std::string joined(const Items& items, const std::string& separator = ", ", const TextOf& textOf = {})
{
  std::string line;
  for (const auto& item : items)
    (line += line.empty() ? "" : separator) += textOf(item);
  return line;
}

}
