#pragma once

#include "Core/Compute/Log.h"
#include "Tools/Landmarks/FindOptions.h"

namespace tessera {

/// Writes the keypoints of the fixed image as an elastix file of points. Throws Error, also if there are
/// none. Returns the exit code.
int detect(const FindOptions&, Log&);

/// Tracks keypoints of the fixed image into the moving image, and writes those that are kept as elastix files
/// of points with their weights, and all of them as JSON. Nothing is written before all are tracked. Throws
/// Error.
int track(const FindOptions&, Log&);

}
