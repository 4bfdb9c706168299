#pragma once

#include <string>
#include <vector>

namespace tessera {

/// The texts with ", " between them, each between two `quote`s.
inline std::string joined(const std::vector<std::string>& texts, const std::string& quote = "")
{
  std::string line;
  for (const std::string& text : texts)
    line += (line.empty() ? "" : ", ") + quote + text + quote;
  return line;
}

}
