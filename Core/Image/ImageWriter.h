#pragma once

#include "Core/Image/ImageHeader.h"

#include <string>

namespace tessera {

/// Writes voxels (components interleaved, x fastest, in the header's component type) to the format of the path's extension,
/// whole or not at all. Throws Error(unwritableOutput), before it writes if the format cannot hold them.
void writeVoxels(const std::string& path, const ImageHeader& header, const void* voxels, bool compress);

}
