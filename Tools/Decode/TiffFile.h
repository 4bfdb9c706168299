#pragma once

#include "Core/Image/Voxels/PixelType.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct tiff; // of libtiff

namespace tessera {

/// The description of a picture in a directory of a TIFF file (TIFF 6.0).
struct TiffPicture {
  std::uint64_t place = 0; // of the directory in the file
  std::uint32_t width = 0, height = 0, subfile = 0;
  std::uint16_t bits = 1, compression = 1, photometric = 1, samples = 1, orientation = 1, planes = 1,
                format = 1;
  bool isTiled = false;       // else in strips
  bool isBehindAside = false; // whether a directory that isAside() stands before it

  /// Whether it is a smaller copy of another picture, or a mask.
  bool isAside() const { return (subfile & 5) != 0; }
};

/// Holds what ImageJ, tifffile or OME-XML say of all pictures in the description of the first one.
struct TiffText {
  std::string writer; // empty: there is no such text
  std::uint64_t channels = 1, slices = 1, frames = 1, pictures = 1;
  std::array<double, 3> voxel{}; // its size in the unit; 0: not named
  std::string unit;
  std::string scale; // ImageJ: what a value is, if that is not the stored number
};

/// A TIFF file whose pictures are slices. ITK 5.2 reads some of them as other numbers than the file has.
class TiffFile {
public:
  explicit TiffFile(const std::string& path);
  TiffFile(const TiffFile&) = delete;
  TiffFile& operator=(const TiffFile&) = delete;

  /// The slices in their order.
  const std::vector<TiffPicture>& pictures() const { return pictures_; }
  TiffText text() const;

  /// Throws Error(unreadableInput) for a file that is cut off, for pixels that ITK reads as others and that
  /// read() cannot read, and for channels, and frames unless they may be, which would be read as slices.
  void check(bool framesAreSlices) const;

  /// The type of the pixels if read() reads them: grey ones. ITK has to read others.
  std::optional<PixelType> ownType() const;
  /// Reads all slices, x fastest. Throws Error(unreadableInput).
  void read(std::byte* pixels) const;

private:
  bool holdsPixels() const;
  void readBlocks(const TiffPicture&, std::byte* pixels) const;

  std::string path_, description_;      // of the first picture
  std::array<float, 2> pixelsOfUnit_{}; // of the first picture, along x and y; 0: not named
  bool hasFailed_ = false;              // libtiff has found an error
  bool isWhole_ = true;                 // whether all directories and their pixels lie in the file
  std::unique_ptr<tiff, void (*)(tiff*)> file_;
  std::vector<TiffPicture> pictures_;
};

/// Adds the text of ImageJ, with the distance of slices, for which TIFF has no tag, to a volume that ITK has
/// written with its spacing along x and y in pixels an inch. Throws std::runtime_error.
void addTextOfImageJ(const std::string& path, std::size_t slices, double spacingMm);

}
