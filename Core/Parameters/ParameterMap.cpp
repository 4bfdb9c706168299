#include "Core/Parameters/ParameterMap.h"

#include <algorithm>

namespace tessera {

const ParameterEntry* ParameterMap::find(std::string_view name) const
{
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const ParameterEntry& entry) { return entry.name == name; });
  return found == entries_.end() ? nullptr : &*found;
}

std::string ParameterMap::where(const ParameterEntry& entry) const
{
  const std::string file = fileName_.empty() ? "parameters" : fileName_;
  return entry.line == 0 ? file : file + ":" + std::to_string(entry.line);
}

}
