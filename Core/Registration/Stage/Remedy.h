#pragma once

#include "Core/Registration/Stage/Motion.h"

#include <string>

namespace tessera {

/// What may help a stage that ended because too few samples map into the moving image and its mask, from the
/// shares and motions that were measured: why it ended and one remedy for that.
std::string remedyFor(const Motion&, double diagonalOfFixedMm);

}
