#pragma once

#include <functional>
#include <string>

namespace tessera {

/// The texts of the items, textOf(item), with a separator between them.
template <class Items, class TextOf = std::identity>
std::string joined(const Items& items, const std::string& separator = ", ", const TextOf& textOf = {})
{
  std::string line;
  bool isFirst = true; // an item's text may be empty
  for (const auto& item : items) {
    (line += isFirst ? "" : separator) += std::invoke(textOf, item);
    isFirst = false;
  }
  return line;
}

}
