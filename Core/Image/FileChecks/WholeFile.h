#pragma once

#include "Core/Image/Files/ImageHeader.h"

#include <string>

namespace tessera {

/// Whether the image file that was just written, with its data file if it has one, holds all voxels and their
/// spacing. Libraries do not always report that the disk is full or memory short. Throws Error if this cannot
/// be found out, for want of memory.
bool isWholeImageFile(const std::string& path, const ImageHeader&, const void* voxels);

}
