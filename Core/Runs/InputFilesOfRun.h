#pragma once

#include "Core/Compute/Files/InputFiles.h"

namespace tessera {

/// Adds an image with all files that its header names; nothing if it cannot be read, which reading it tells.
void addImage(InputFiles&, const std::string& path, const std::string& what);

/// Adds a transform with its initial transforms and the files that these name. An empty path adds nothing.
void addTransform(InputFiles&, const std::string& path, const std::string& what);

}
