#pragma once

#include "Core/Image/FileChecks/FileCheck.h"

namespace tessera {

/// Converts the spacing and origin in the header of a NIfTI, NRRD or MetaImage file that names another unit
/// of length than mm. Adds a note of that, of a unit that is not known, and of a spacing that the file does
/// not name.
void convertToMm(const FileHead&, ImageHeader&);

/// mm of a unit of length, by the names that NRRD, MetaImage, ImageJ and OME have for it; 0: not known.
double mmOfUnit(const std::string& unit);

}
