#pragma once

#include "Core/Registry/Registry.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Transform/TransformOptions.h"

#include <string>

namespace tessera {

/// Reads the transform, computes the results that the options ask for and returns the exit code. Throws
/// Error.
int runTransform(const Registry&, const TransformOptions&, const std::string& command, RunLog&);

}
