#pragma once

#include "Core/Image/Compression/Inflater.h"
#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/Voxels/VoxelPlace.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

// Checks of damaged files that ITK 5.2 and its libraries do not report. Files of other formats pass each
// check. Where a check returns bool, it is whether the file was understood: one that was not must not go on
// to the library of the format, which is less strict.

/// A file that is opened once for all who look at its beginning.
struct FileHead {
  /// Throws Error(unreadableInput) if it cannot be opened.
  FileHead(const std::string& path)
      : path(path), file(std::make_shared<const InputFile>(path)), bytes(file->text(0, longest))
  {
  }

  static constexpr std::size_t longest = 1 << 16; // headers are shorter; another file may be one long line

  std::string path;
  std::shared_ptr<const InputFile> file;
  std::string bytes; // the first ones
};

/// The findings of one of our parsers in a file.
struct ParsedImage {
  bool isKnown = false; // it is a file of the parser's format, and passes all checks
  ImageHeader header;   // if there are `voxels`: with the numbers of ITK's reader, to the last bit
  std::optional<VoxelPlace> voxels; // empty: only the format's library reads the file
};

/// The meaning of components in a format that does not say it: three or four of 8 bits are read as colours.
PixelMeaning meaningOf(int components, bool areColours);

/// The type of the values of scaled numbers (ValueScaling::Value).
PixelType typeOfValues(const VoxelPlace&);

/// The largest number of data files that a header may name.
constexpr std::uint64_t maxDataFiles = 1 << 16;

/// `count` bytes of a file from `position` on. Fewer if the file is shorter, none if it is no regular file.
/// Throws Error(unreadableInput) if it cannot be read.
std::string bytesOfFile(const std::string& path, std::uint64_t position, std::size_t count);

/// Whether a file name ends so, in small or capital letters, as libraries compare endings.
bool hasEnding(const std::string& path, const std::string& lowerCaseEnding);

/// Deflate makes at most so many bytes of one (RFC 1951: 258 of two bits).
constexpr std::uint64_t maxInflation = 1032;

/// bytes * count, but at most 2^62: no file is longer.
std::uint64_t bytesTimes(std::uint64_t bytes, std::uint64_t count);

/// Throws Error(unreadableInput) for a NIfTI or Analyze file that its library would not refuse: a spacing of
/// zero or NaN, which it replaces by 1, axes that are not numbers, with which it never ends, or a file that
/// is cut off. Has voxels for one file with one volume of scalars, or of vectors that are not scaled.
ParsedImage parseNifti(const FileHead&);

/// The unit of length that a NIfTI or Analyze file names, in Analyze of at most four letters; empty for mm,
/// for none, and for other files.
std::string niftiUnit(const FileHead&);

/// Throws Error(unreadableInput) for a NIfTI file without qform whose sform ITK refuses: its axes are not
/// perpendicular, or their lengths are not those of pixdim.
[[noreturn]] void failOnSform(const FileHead&);

/// Lines for the user if other programs may place the voxels of a NIfTI or Analyze file elsewhere, as its
/// header does not place them, or its qform and sform differ, and if it does not tell how far times are
/// apart.
std::vector<std::string> notesOnNifti(const FileHead&, const ImageHeader&);

/// Whether a NIfTI, MetaImage or NRRD file has four axes, of which the last one, time, has a size of 1. To
/// readers of images that is a volume.
bool hasOneTime(const FileHead&);

/// Whether a file, compressed or not, or its separate header begins as NIfTI-2.
bool isNifti2(const std::string& path);

/// Throws Error(unreadableInput) for a MetaImage (.mhd, .mha) with data that are cut off, slices or a data
/// file that are missing, or numbers that cannot be read. Its library does not refuse such files, or does not
/// say why. Has voxels for numbers that are not text, in one file.
ParsedImage parseMetaImage(const FileHead&);

/// The space of a NRRD in small letters without hyphens and blanks, as its library compares it, such as
/// "las"; empty if the header names none.
std::string nrrdSpace(const FileHead&);

/// Throws Error(unreadableInput) for a NRRD whose data files have no names or too many. Has voxels where they
/// are raw or compressed by gzip, in one file, components first, and no field of the header is unusual.
ParsedImage parseNrrd(const FileHead&);

/// Throws Error(unreadableInput) for a VTK file (.vtk) with fewer numbers than its header promises: its
/// library reads a text to its end alone, and takes numbers that a header lacks from anywhere.
bool checkVtkFile(const std::string& path);

/// The data files that a MetaImage or NRRD header names, whether they exist or not. Empty if the voxels
/// follow the header, and for a file of another format.
std::vector<std::string> metaImageDataFiles(const FileHead&);
std::vector<std::string> nrrdDataFiles(const FileHead&);

/// Whether the file, decompressed if it is a gzip file, has at least `byteCount` bytes from `start` on, where
/// the gzip file begins. It is decompressed only if the length at its end differs from `byteCount`, and not
/// far beyond that.
bool holdsBytes(const InputFile&, std::uint64_t byteCount, std::uint64_t start = 0);

}
