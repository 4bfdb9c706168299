#pragma once

#include <string>
#include <vector>

namespace tessera {

/// All files that a transform is read from: itself, its initial transforms, and what these name (files of ITK
/// transforms, images of displacements, files of parameters). What cannot be read names nothing: that is told
/// by who reads it.
std::vector<std::string> filesOfTransform(const std::string& path);

}
