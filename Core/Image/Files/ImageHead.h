#pragma once

#include "Core/Image/Files/ImageHeader.h"

#include <string>

namespace tessera {

/// The bytes before the voxels in an uncompressed file of this format (mha, mhd, nii, nrrd), as ITK 5.2
/// writes them for scalars and vectors in 2D to 4D. ElementDataFile of a MetaImage is LOCAL.
std::string imageFileHead(const std::string& format, const ImageHeader&);

/// Replaces a part of a header's text. Throws std::runtime_error if the header does not have it.
void replaceInHead(std::string& head, const std::string& old, const std::string& replacement);

}
