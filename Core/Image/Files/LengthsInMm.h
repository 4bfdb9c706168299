#pragma once

#include "Core/Image/FileChecks/FileCheck.h"

namespace tessera {

/// Converts the spacing and origin in the header of a NIfTI, NRRD or MetaImage file that names another unit
/// of length than mm. Adds a note of that, of a unit that is not known, and of a spacing that the file does
/// not name.
void convertToMm(const FileHead&, ImageHeader&);

/// A line for the user about the spacing of a JPEG, PNG, BMP or TIFF: it comes from dots per inch, the text
/// of ImageJ or OME in the file names another one, or none is named. Empty if the user gave one, or for
/// another format.
std::string noteOnPixelSpacing(const ImageHeader&, const ReadingOptions&);

}
