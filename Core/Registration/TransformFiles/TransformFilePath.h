#pragma once

#include "Core/Parameters/Parameters.h"

#include <string>

namespace tessera {

/// A path of a transform parameter file: as it stands if there is such a file, else seen from the folder of
/// the transform file. Throws Error(unreadableInput) naming both if there is neither, and a file of that name
/// beside the transform file if there is one: the folder may have been moved, but nobody can tell whether
/// that file is meant.
std::string pathBesideTransformFile(const Parameters& transformFile, const std::string& key,
                                    const std::string& path);

}
