#pragma once

#include <string>
#include <vector>

namespace tessera {

/// All files that an image is read from: itself, those with voxels that its header names, the other one of a
/// pair, or what of a folder may be a DICOM slice by its ending. Those that are missing are named too.
std::vector<std::string> filesOfImage(const std::string& path);

/// The files that an image of this path may be written to: some formats have their voxels beside the header.
std::vector<std::string> filesOfResult(const std::string& path);

}
