#pragma once

#include "Core/Compute/Log.h"
#include "Tools/Compare/CompareOptions.h"

namespace tessera {

/// Compares, prints the figures, and writes the files that are asked for. Throws Error. Returns the exit
/// code.
int compareImages(const CompareOptions&, Log&);

}
