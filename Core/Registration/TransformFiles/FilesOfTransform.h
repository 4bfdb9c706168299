#pragma once

#include <string>
#include <vector>

namespace tessera {

/// All files that a transform is read from: its own, those of its initial transforms, and the files that
/// these name (ITK transforms, images of displacements, parameters). A file that cannot be read adds nothing
/// here; the code that reads it reports the error.
std::vector<std::string> filesOfTransform(const std::string& path);

}
