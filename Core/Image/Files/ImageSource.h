#pragma once

#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/Voxels/VoxelPlace.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tessera {

/// Length of the voxels of a header: components interleaved, in the header's component type.
inline std::size_t byteCountOf(const ImageHeader& header)
{
  return header.voxelCount() * header.components * pixelTypeSize(header.componentType);
}

/// An image file, or a folder with one DICOM series, opened for reading.
class ImageSource {
public:
  /// Passes all voxels on.
  using ReadAll = std::function<void(const VoxelConsumer&, int threads)>;

  /// An image whose voxels are read without a library.
  ImageSource(ImageHeader, VoxelPlace);
  /// An image of which a library reads all voxels at once.
  ImageSource(ImageHeader header, ReadAll readAll) : header_(std::move(header)), readAll_(std::move(readAll))
  {
  }

  const ImageHeader& header() const { return header_; }
  /// The number of bytes that read() fills, x fastest.
  std::size_t byteCount() const { return byteCountOf(header_); }

  /// Reads all voxels. Throws Error(unreadableInput).
  void read(std::byte* buffer, int threads) const;

  /// Reads all voxels piece by piece, so that they need not be in memory in the type of the file. With
  /// isReadWhole of the header that still needs memory for all of them.
  void read(const VoxelConsumer& consumer, int threads) const;

  /// The place of the voxels in their file, if they can be read without a library; else null. Their values
  /// may have to be scaled.
  const VoxelPlace* place() const { return place_ ? &*place_ : nullptr; }

private:
  void readScaled(const VoxelConsumer&, int threads) const;

  ImageHeader header_;
  std::optional<VoxelPlace> place_;
  ReadAll readAll_; // without a place
};

/// Opens a file or folder and checks its header. Throws as readImageHeader.
std::unique_ptr<ImageSource> openImage(const std::string& path, const ReadingOptions&);

/// Passes bytes on in pieces that threads take in any order.
void passInPieces(std::span<const std::byte> bytes, int threads, const VoxelConsumer&);

/// Throws Error(unreadableInput) if the geometry of a header makes no sense: a spacing that is not positive,
/// a singular direction, NaN, or no voxels.
void checkGeometry(const ImageHeader& header);

}
