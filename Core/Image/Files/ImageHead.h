#pragma once

#include "Core/Image/Files/ImageHeader.h"

#include <cstdint>
#include <string>

namespace tessera {

/// The bytes before the voxels in an uncompressed file of this format (mha, mhd, nii, nrrd), as ITK 5.2
/// writes them for scalars and vectors in 2D to 4D. ElementDataFile of a MetaImage is LOCAL.
std::string imageFileHead(const std::string& format, const ImageHeader&);

/// Replaces a part of a header's text. Throws std::runtime_error if the header does not have it.
void replaceInHead(std::string& head, const std::string& old, const std::string& replacement);

// MetaImage and NIfTI-1 call the types of pixels so, in the order of allPixelTypes.
inline constexpr const char* metaTypes[] = {"MET_CHAR",  "MET_UCHAR", "MET_SHORT",     "MET_USHORT",
                                            "MET_INT",   "MET_UINT",  "MET_LONG_LONG", "MET_ULONG_LONG",
                                            "MET_FLOAT", "MET_DOUBLE"};
inline constexpr std::int16_t niftiTypes[] = {256, 2, 4, 512, 8, 768, 1024, 1280, 16, 64};

}
