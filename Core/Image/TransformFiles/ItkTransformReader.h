#pragma once

#include "Core/Image/TransformFiles/ItkTransformFile.h"

namespace tessera {

/// What readItkTransforms() returns or throws, always read in this process. readItkTransforms() reads in
/// another one where ImageProcess runs.
std::vector<ItkTransform> readItkTransformsHere(const std::string& path);

}
