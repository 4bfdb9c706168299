#pragma once

#include "Core/Image/Files/ImageHeader.h"

#include <string>

namespace tessera {

/// The bytes before the voxels in an uncompressed file of this format (mha, mhd, nii, nrrd), as ITK writes
/// them. ElementDataFile of a MetaImage is LOCAL. Makes temporary files in `folder`. Throws
/// std::runtime_error.
std::string imageFileHead(const std::string& format, const ImageHeader& header, const std::string& folder);

/// Replaces a part of a header's text. Throws std::runtime_error if the header does not have it.
void replaceInHead(std::string& head, const std::string& old, const std::string& replacement);

/// Writes voxels (components interleaved, x fastest, in the header's component type) in the format of the
/// path's extension, completely or not at all. Throws Error(unwritableOutput), before anything is written if
/// the format cannot hold such voxels.
void writeVoxels(const std::string& path, const ImageHeader& header, const void* voxels, bool compress,
                 int threads);

}
