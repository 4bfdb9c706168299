#pragma once

#include "Core/Image/Image.h"
#include "Core/Image/Voxels/PixelType.h"

#include <string>
#include <vector>

namespace tessera {

/// The file that ITK makes of an image, by the format of the path's extension (nii, nii.gz, mha, nrrd).
/// `type` is uint8, int16 or float32.
void writeImageByItk(const std::string& path, const Image<3>& image, PixelType type, bool compress);

/// The voxels of such a file as floats, as itk::ImageFileReader gives them.
std::vector<float> readImageByItk(const std::string& path);

}
