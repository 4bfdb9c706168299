#pragma once

#include "Core/Image/Files/ImageHeader.h"

#include <string>

namespace tessera {

/// Writes voxels (components interleaved, x fastest, in the header's component type) in the format of the
/// path's extension, completely or not at all. Throws Error(unwritableOutput), before anything is written if
/// the format cannot hold such voxels.
void writeVoxels(const std::string& path, const ImageHeader& header, const void* voxels, bool compress,
                 int threads);

}
