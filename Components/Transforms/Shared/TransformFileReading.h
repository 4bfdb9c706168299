#pragma once

#include "Core/Registration/TransformFiles/TransformFilePath.h"

#include <string>
#include <vector>

namespace tessera {

/// The values of (TransformParameters ...), or of the binary file of doubles that it names if
/// (UseBinaryFormatForTransformationParameters "true"). `expected` is the number that the model needs, and
/// `because` says why. Throws Error(usage) with both numbers if the count differs, and Error(unreadableInput)
/// if the binary file is missing or too short.
std::vector<double> readTransformParameters(const Parameters& transformFile, std::size_t expected,
                                            const std::string& because);

}
