#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <string>
#include <vector>

namespace tessera {

/// The mapped points (mm) of an outputpoints.txt as transformix and tessera-transform write it: "OutputPoint
/// = [ x y z ]". Throws Error(unreadableInput).
template <int D>
std::vector<Vec<D>> readOutputPointsMm(const std::string& path);

}
