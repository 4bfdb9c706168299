#pragma once

#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/ItkTransformFiles/ItkTransformFile.h"

#include <string>
#include <vector>

namespace tessera {

// What Core/Image/ItkTransformFiles promises, done by ITK. Writers throw std::exception with ITK's message.

std::vector<ItkTransform> readItkTransformsByItk(const std::string& path);
void writeTransformsByItk(const std::string& path, const std::vector<ItkTransform>&, bool composite);
/// `displacementsMm` has one vector a voxel of the header's grid.
void writeFieldByItk(const std::string& path, const ImageHeader&, const float* displacementsMm);

}
