#pragma once

#include "Core/Image/FileChecks/FileNumbers.h"
#include "Core/Image/Voxels/PixelType.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// The numbers of a tag of a TIFF file.
struct TiffValues {
  std::uint64_t position = 0, count = 0;
  std::size_t bytes = 0; // bytes of each value
};

/// The tags of a picture in a TIFF file (TIFF 6.0), with their defaults.
struct TiffPicture {
  std::uint64_t subfile = 0, width = 0, height = 0, bits = 1, compression = 1, photometric = 1, samples = 1;
  std::uint64_t orientation = 1, rowsOfStrip = 0xffffffff, planes = 1, predictor = 1, format = 1;
  std::uint64_t tileWidth = 0, tileHeight = 0;    // 0: strips
  std::uint64_t xResolution = 0, yResolution = 0; // pixels a unit: both numbers of a fraction
  TiffValues offsets, lengths;                    // of strips or tiles
  TiffValues description;
  bool isBehindAside = false; // whether such a directory stands before it

  bool isTiled() const { return tileWidth > 0; }
  /// Whether it is a smaller copy of another picture, or a mask.
  bool isAside() const { return (subfile & 5) != 0; }
};

/// The directories of a TIFF file, one a slice, and the pixels to which they point (TIFF 6.0, section 2;
/// BigTIFF with longer numbers).
class TiffFile {
public:
  explicit TiffFile(const std::string& path)
      : file_(path), largestFirst_(file_.at(0, 1, false) == 'M'), isBig_(number(2, 2) == 43),
        isWhole_(readDirectories())
  {
  }

  /// Whether all directories and their pixels lie in the file.
  bool isWhole() const { return isWhole_; }
  bool largestFirst() const { return largestFirst_; }
  /// The slices in their order.
  const std::vector<TiffPicture>& pictures() const { return pictures_; }
  /// Value `i` of a tag.
  std::uint64_t value(const TiffValues& values, std::uint64_t i)
  {
    return number(values.position + i * values.bytes, values.bytes);
  }

private:
  std::uint64_t number(std::uint64_t position, std::size_t bytes)
  {
    return file_.at(position, bytes, largestFirst_);
  }
  bool readDirectories();
  TiffValues valuesOf(std::uint64_t entry);
  TiffPicture pictureOf(std::uint64_t entry, std::uint64_t entryCount, std::uint64_t entryBytes);
  bool holdsPixels(const TiffPicture&);

  FileNumbers file_;
  bool largestFirst_, isBig_;
  std::vector<TiffPicture> pictures_;
  bool isWhole_;
};

/// Holds what ImageJ, tifffile or OME-XML say of all pictures in the description of the first one.
struct TiffText {
  std::string writer; // empty: there is no such text
  std::uint64_t channels = 1, slices = 1, frames = 1, pictures = 1;
  std::array<double, 3> voxel{}; // its size in the unit; 0: not named
  std::string unit;
  std::string scale; // ImageJ: what a value is, if that is not the stored number
};

TiffText textOf(TiffFile&, const std::string& path);

/// Throws Error(unreadableInput) for pixels that ITK 5.2 reads as others and that readTiffPixels() cannot
/// read, and for channels, and frames unless they may be, which would be read as slices. `path` is that of
/// the file.
void refuseMisreadTiff(TiffFile&, const std::string& path, bool framesAreSlices);

/// The pixels of a TIFF file that readTiffPixels() has to read, because ITK 5.2 reads them as others.
struct TiffPixels {
  PixelType type;
  std::uint64_t width, height, slices;
};

/// Nothing if ITK has to read them.
std::optional<TiffPixels> tiffPixels(const TiffFile&);

/// Reads all slices, x fastest: grey pixels in strips or tiles that are not compressed or deflated. Throws
/// Error(unreadableInput).
void readTiffPixels(TiffFile&, const std::string& path, std::byte* pixels);

}
