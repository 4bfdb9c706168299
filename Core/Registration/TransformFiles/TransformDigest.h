#pragma once

#include <string>
#include <string_view>

namespace tessera {

/// The entry that a transform parameter file has beside the path of its initial transform: transformDigest()
/// of that file. Other programs pass over it.
inline constexpr const char* initialTransformDigest = "InitialTransformSHA256";
/// Entries with the digests of the other files that a transform file names: DeformationFieldFileName,
/// TransformFileName, and the files of SubTransforms in their order.
inline constexpr const char *deformationFieldDigest = "DeformationFieldSHA256",
                            *transformFileDigest = "TransformFileSHA256",
                            *subTransformsDigest = "SubTransformsSHA256";

/// The entry with the digests of the files that `entry` of a transform file names; empty for other entries.
std::string digestEntryOf(std::string_view entry);

/// Identifies a transform by 64 hexadecimal digits: SHA-256 (FIPS 180-4). In a transform
/// parameter file (.txt, .toml) it covers the lines without comments, without blanks at their ends, and
/// without entries that leave the transform as it is: the output grid, the settings of resampling, and the
/// path of the initial transform, whose digest is an entry of its own. Fields, files of ITK and transforms
/// that the file names are covered by their digests in it or, without these, by their bytes. In any other
/// file it covers all bytes. Throws Error(unreadableInput) if the file, or one that it names, cannot be read.
std::string transformDigest(const std::string& path);

}
