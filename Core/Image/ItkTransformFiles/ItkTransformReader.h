#pragma once

#include "Core/Image/ItkTransformFiles/ItkTransformFile.h"

namespace tessera {

/// Reads as readItkTransforms() does, but always in this process.
std::vector<ItkTransform> readItkTransformsHere(const std::string& path);

}
