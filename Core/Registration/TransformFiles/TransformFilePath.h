#pragma once

#include "Core/Parameters/Parameters.h"

#include <string>

namespace tessera {

/// Resolves a path in a transform parameter file: the path itself if there is such a file, else the path
/// relative to the folder of the transform file. Throws Error(unreadableInput) with both if neither exists.
/// If a file of that name lies beside the transform file, because the folder may have been moved, the message
/// names it; only the user can know whether that file is meant.
std::string pathBesideTransformFile(const Parameters& transformFile, const std::string& key,
                                    const std::string& path);

}
