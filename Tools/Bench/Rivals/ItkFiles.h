#pragma once

#include "Core/Image/Image.h"
#include "Core/Image/Voxels/PixelType.h"

#include <string>
#include <vector>

namespace tessera {

/// Writes an image by ITK in the format of the path's extension (nii, nii.gz, mha, nrrd). `type` is uint8,
/// int16 or float32.
void writeImageByItk(const std::string& path, const Image<3>& image, PixelType type, bool compress);

/// The voxels of such a file as floats, read by itk::ImageFileReader.
std::vector<float> readImageByItk(const std::string& path);

}
