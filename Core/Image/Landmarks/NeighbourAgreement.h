#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Math/SmallMatrix.h"

#include <span>
#include <vector>

namespace tessera {

/// Whether each displacement agrees with those of the 8 nearest points: it differs from their median, taken
/// along each axis, by at most toleranceMm + 0.5 s, where s is their median absolute deviation times 1.4826.
/// The test is made twice; the second time only points that agreed the first time are neighbours. Fewer than
/// 9 points all agree.
std::vector<bool> agreesWithNeighbours(const Context&, std::span<const Vec<3>> pointsMm,
                                       std::span<const Vec<3>> displacementsMm, double toleranceMm);

}
