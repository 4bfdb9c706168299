#pragma once

#include "Core/Image/ImageHeader.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// An image file, or a folder with one DICOM series, opened for reading. Only this class's source reads through ITK.
class ImageReader {
public:
  /// Opens `path` and checks its header; errors as readImageHeader.
  explicit ImageReader(const std::string& path);
  ~ImageReader();
  ImageReader(const ImageReader&) = delete;
  ImageReader& operator=(const ImageReader&) = delete;

  const ImageHeader& header() const { return header_; }

  /// Bytes that read() fills: components interleaved, x fastest, in the type of the header.
  std::size_t byteCount() const;

  /// Reads all voxels. Adds to `notes` what a user should know of them. Throws Error(unreadableInput).
  void read(void* buffer, std::vector<std::string>& notes);

private:
  struct Source;
  std::unique_ptr<Source> source_;
  ImageHeader header_;
};

}
