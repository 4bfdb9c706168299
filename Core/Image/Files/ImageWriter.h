#pragma once

#include "Core/Image/Files/ImageHeader.h"

#include <string>

namespace tessera {

/// What stands before the voxels in an uncompressed file of this format (mha, mhd, nii, nrrd), as ITK writes
/// it. Makes files in `folder` and removes them. ElementDataFile of a MetaImage is LOCAL. Throws
/// std::runtime_error.
std::string imageFileHead(const std::string& format, const ImageHeader& header, const std::string& folder);

/// Replaces a piece of a header's text. Throws std::runtime_error if it is not there.
void replaceInHead(std::string& head, const std::string& old, const std::string& replacement);

/// Writes voxels (components interleaved, x fastest, in the header's component type) to the format of the
/// path's extension, whole or not at all. Throws Error(unwritableOutput), before it writes if the format
/// cannot hold them.
void writeVoxels(const std::string& path, const ImageHeader& header, const void* voxels, bool compress,
                 int threads);

}
