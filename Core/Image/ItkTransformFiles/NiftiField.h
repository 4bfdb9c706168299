#pragma once

#include "Core/Image/Image.h"

#include <string>

namespace tessera {

/// The meaning that a program gives to the vectors of a NIfTI file.
enum class NiftiVectors {
  fnirt,    // FSL's field: four axes, intent 2006 (FSL_FNIRT_DISPLACEMENT_FIELD)
  niftyreg, // NiftyReg's field of positions: five axes, intent 1007 called NREG_TRANS, first parameter 0
};

/// Writes three floats a voxel as .nii or .nii.gz, atomically. Throws Error(unwritableOutput).
void writeNiftiVectors(const std::string& path, const VectorImage<3>&, NiftiVectors, int threads);

/// The intent in the header of a NIfTI-1 file of either byte order; code 0 for any other file.
struct NiftiIntent {
  int code = 0;
  float parameter = 0; // the first of three
  std::string name;
};
NiftiIntent niftiIntent(const std::string& path);

}
