#pragma once

#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/Voxels/VoxelPlace.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// An image file, or a folder with one DICOM series, opened for reading.
class ImageSource {
public:
  explicit ImageSource(ImageHeader header) : header_(std::move(header)) {}
  virtual ~ImageSource() = default;

  const ImageHeader& header() const { return header_; }

  /// Bytes that read() fills: components interleaved, x fastest, in the header's component type.
  std::size_t byteCount() const
  {
    return header_.voxelCount() * header_.components * pixelTypeSize(header_.componentType);
  }

  /// Reads all voxels. Adds to `notes` what a user should know of them. Throws Error(unreadableInput).
  virtual void read(std::byte* buffer, int threads, std::vector<std::string>& notes) = 0;

  /// Gives them piece by piece, so that they need not lie in memory as the file holds them.
  virtual void read(const VoxelConsumer& consumer, int threads, std::vector<std::string>& notes);

  /// Where the voxels lie, as numbers that may have to be scaled, if they can be read without a library; null
  /// if they can not.
  virtual const VoxelPlace* place() const { return nullptr; }

protected:
  ImageHeader header_; // isReadWhole: the second form of read() takes memory for all of its voxels
};

/// Opens `path`, a file or a folder, and checks its header; errors as readImageHeader.
std::unique_ptr<ImageSource> openImage(const std::string& path);

/// The one DICOM series of a folder, slices ordered along their normal.
std::unique_ptr<ImageSource> openDicomFolder(const std::string& path);

/// Throws Error(unreadableInput) if the geometry cannot hold: spacing not above zero, singular direction,
/// NaN, no voxels.
void checkGeometry(const ImageHeader& header);

}
