#pragma once

#include <cstddef>
#include <string>

namespace tessera {

/// Whether the image file that was just written, with its data file if it has one, holds all of the
/// `byteCount` bytes at `voxels`. ITK does not always report that the disk is full.
bool isWholeImageFile(const std::string& path, const std::string& format, const void* voxels,
                      std::size_t byteCount);

}
