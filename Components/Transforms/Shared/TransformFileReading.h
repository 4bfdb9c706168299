#pragma once

#include "Core/Registration/TransformFiles/TransformFilePath.h"

#include <string>
#include <vector>

namespace tessera {

/// The values of (TransformParameters ...), or of the binary file of doubles that it names if
/// (UseBinaryFormatForTransformationParameters "true"). `expected` follows from the model, `because` says
/// how. Throws Error(usage) with the figures if the count differs, Error(unreadableInput) if the binary file
/// is missing or short.
std::vector<double> readTransformParameters(const Parameters& transformFile, std::size_t expected,
                                            const std::string& because);

}
