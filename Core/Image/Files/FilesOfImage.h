#pragma once

#include <string>
#include <vector>

namespace tessera {

/// All files from which an image is read, whether they exist or not: the file itself, data files that its
/// header names, the other file of a pair, or all files of a folder that may be DICOM slices by their
/// endings.
std::vector<std::string> filesOfImage(const std::string& path);

/// The files that writing an image to this path may create: some formats keep their voxels in a second file.
std::vector<std::string> filesOfResult(const std::string& path);

}
