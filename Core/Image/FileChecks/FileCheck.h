#pragma once

#include <cstddef>
#include <cstdint>
#include <ios>
#include <string>
#include <vector>

namespace tessera {

// What ITK 5.2 and its libraries do not tell. Files of other formats pass.

/// `count` bytes from `position`, counted from the end if it is negative; fewer if the file is shorter.
std::string bytesOfFile(const std::string& path, std::streamoff position, std::size_t count);

/// In letters of either size, as libraries read endings.
bool hasEnding(const std::string& path, const std::string& lowerCaseEnding);

/// bytes * count, at most 2^62: no file is so long.
std::uint64_t bytesTimes(std::uint64_t bytes, std::uint64_t count);

/// Looks at a NIfTI or Analyze file itself: its library replaces a spacing of zero or NaN by 1, does not end
/// with axes that are no numbers, and gives a file that was cut off without a word. Throws
/// Error(unreadableInput).
void checkNiftiFile(const std::string& path);

/// Whether a file, plain or gzip, or the header beside it, begins as NIfTI-2.
bool isNifti2(const std::string& path);

/// Looks at a MetaImage (.mhd, .mha) itself: its library gives data that were cut off and slices that are
/// missing without an error and names neither a missing data file nor a number that it cannot read. Throws
/// Error(unreadableInput).
void checkMetaImageFile(const std::string& path);

/// Looks at a JPEG, PNG, BMP, TIFF or DICOM file itself: their libraries fill up, drop slices or end the
/// program where a file was cut off or damaged. Throws Error(unreadableInput).
void checkPictureFile(const std::string& path);

/// The files with voxels that such a header names, whether they are there or not; none if the voxels follow
/// the header, and of files of another kind.
std::vector<std::string> metaImageDataFiles(const std::string& path);
std::vector<std::string> nrrdDataFiles(const std::string& path);

/// Whether its library can read a file that begins as a JPEG.
bool jpegIsWhole(const std::string& path);

/// True if the file, decompressed if it is a gzip file, is at least `byteCount` bytes long. Decompresses only
/// if the length that the file itself states is another one.
bool holdsBytes(const std::string& path, std::uint64_t byteCount);

}
