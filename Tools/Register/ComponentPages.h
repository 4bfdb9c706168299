#pragma once

#include "Core/Registry/Registry.h"

#include <string>

namespace tessera {

/// Every component, by role, with its summary.
std::string componentList(const Registry&);

/// Parameters of every component of this name or alias. Throws Error(usage) naming the nearest one.
std::string componentPage(const Registry&, const std::string& name);

}
