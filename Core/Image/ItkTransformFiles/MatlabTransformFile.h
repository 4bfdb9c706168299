#pragma once

#include "Core/Image/ItkTransformFiles/ItkTransformFile.h"

namespace tessera {

/// Whether a file begins as a matrix of MATLAB version 4 does, in which ITK and ANTs keep linear transforms
/// (0GenericAffine.mat).
bool isMatlabFile(const std::string& path);

/// Reads the one transform of such a file: a column of parameters called after the class, and one of fixed
/// parameters called "fixed", in single or double precision. Throws Error(unreadableInput).
ItkTransform readMatlabTransform(const std::string& path);

/// Writes such a file in double precision, atomically. Throws Error(unwritableOutput).
void writeMatlabTransform(const std::string& path, const ItkTransform&);

}
