#pragma once

#include "Core/Compute/Log.h"
#include "Core/Registry/Registry.h"
#include "Core/Runs/RunListener.h"

#include <string>
#include <vector>

namespace tessera {

/// Throws Error naming --warp or --warp-labels if a header cannot be read, an image is of one time without
/// --from-time or of none with it, or two results have one name; and Error naming --from-time if the series
/// has no such time.
void checkWarpedImages(const RunRequest&);

/// Brings the images of --warp and --warp-labels to the grid of the fixed image, as tessera-transform does
/// with the transform file of the stage: files in the folder `warped` of the output folder, whose paths it
/// returns. Throws Error, or Interrupted.
template <int D>
std::vector<std::string> writeWarpedImages(const Registry&, const RunRequest&, const RunningStage<D>&,
                                           const std::string& transformFile, Log&);

}
