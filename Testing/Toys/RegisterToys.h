#pragma once

#include "Core/Registry/Registry.h"

namespace tessera {

/// All components, and the toys.
void registerToys(Registry&);

}
