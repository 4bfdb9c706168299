#pragma once

#include "Core/Parameters/Parameters.h"

#include <string>
#include <vector>

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

/// All files that a transform is read from: its own, those of its initial transforms, and the files that
/// these name (ITK transforms, images of displacements, parameters). A file that cannot be read adds nothing
/// here; the code that reads it reports the error.
std::vector<std::string> filesOfTransform(const std::string& path);

}
