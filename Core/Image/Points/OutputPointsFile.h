#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <string>
#include <vector>

namespace tessera {

/// Reads the mapped points (mm), "OutputPoint = [ x y z ]", of an outputpoints.txt that transformix or
/// tessera-transform has written. Throws Error(unreadableInput).
template <int D>
std::vector<Vec<D>> readOutputPointsMm(const std::string& path);

}
