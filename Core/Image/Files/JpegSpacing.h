#pragma once

#include "Core/Image/Files/ImageHeader.h"

namespace tessera {

/// A line for the user if the spacing of the image comes from the dots per inch that a JPEG or TIFF
/// names; else empty.
std::string noteOnJpegSpacing(const ImageHeader&, const ReadingOptions&);

}
