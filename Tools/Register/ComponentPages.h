#pragma once

#include "Core/Registry/Registry.h"

#include <map>
#include <string>

namespace tessera {

/// Every component, by role, with its summary.
std::string componentList(const Registry&);

/// Parameters of every component of this name or alias. Throws Error(usage) naming the nearest one.
std::string componentPage(const Registry&, const std::string& name);

/// Reference pages in Markdown, by file name: one a role, with the parameters of its components, and
/// README.md that lists them.
std::map<std::string, std::string> referencePages(const Registry&);

}
