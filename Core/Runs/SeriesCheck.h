#pragma once

#include "Core/Runs/StageCheck.h"

#include <string>
#include <vector>

namespace tessera {

/// Whether the stage registers the times of a series to each other.
template <int D>
bool isOfSeries(const CheckedStage<D>&);

/// Throws Error(usage) if a request asks for what such stages, or others, do not have.
template <int D>
void checkRequestForSeries(const RunRequest&, const std::vector<CheckedStage<D>>&, Log&);

/// For the transform from which a series on this grid starts. Throws Error(usage) that begins with `what` if
/// it moves points along the last axis, which is time, and warns if it was found for other times.
template <int D>
void checkStartOfSeries(const std::string& what, const TransformChain<D>&, const ImageGeometry<D>&, Log&);

/// Warns if the series is another image than the fixed one, and of times without a voxel that counts, or
/// without contrast.
template <int D>
void warnOfVoxelsOfSeries(const RunRequest&, const StageInput<D>&, Log&);

}
