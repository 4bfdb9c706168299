#pragma once

#include "Core/Registry/Registry.h"

namespace tessera {

/// Fills a registry with everything a parameter file can name, for 2D and 3D.
void registerComponents(Registry& registry);

}
