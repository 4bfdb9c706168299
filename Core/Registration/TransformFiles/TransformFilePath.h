#pragma once

#include "Core/Parameters/Parameters.h"

#include <string>

namespace tessera {

/// The file that a path in a transform parameter file leads to. Candidates are the path from the working
/// folder, the path from the transform file's folder, and the file of that name beside the transform file:
/// the folder may have been moved. Where the transform file holds the digest of the file that it means
/// (TransformDigest.h), the candidate with this digest is taken. Otherwise the first candidate is taken, as
/// elastix does, with a warning if a later one has other bytes or if only the last one exists. Throws
/// Error(unreadableInput) naming all candidates if there is none, or none with the digest.
std::string pathBesideTransformFile(const Parameters& transformFile, const std::string& key,
                                    const std::string& path);

/// The entries of a transform parameter file that may name a file, with the digests of these files. Throws
/// Error(usage) for wrong grammar.
ParameterMap entriesWithPaths(const std::string& path);

}
