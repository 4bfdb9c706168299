#pragma once

#include <cstddef>
#include <string>

namespace tessera {

/// ITK does not always tell that a disk ran full. True if the image file at `path`, with its data file if it
/// has one, holds all of the `byteCount` bytes at `voxels` that were written to it.
bool isWholeImageFile(const std::string& path, const std::string& format, const void* voxels,
                      std::size_t byteCount);

}
