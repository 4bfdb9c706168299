#pragma once

#include "Core/Image/Files/ImageHeader.h"

namespace tessera {

class TiffFile;

/// Lines for the user about a JPEG, PNG, BMP or TIFF: an orientation, values that are read as others, and the
/// spacing where the user gave none. `tiff` is null for other formats.
std::vector<std::string> notesOnPicture(const ImageHeader&, const ReadingOptions&, const TiffFile* tiff);

}
