#pragma once

#include "Core/Image/Files/ImageSource.h"
#include "Tools/Decode/DicomSeries.h"

#include <functional>
#include <string>

namespace tessera {

/// An image that a library has opened.
struct DecodedImage {
  ImageHeader header;
  /// Fills `buffer` with all voxels, components interleaved, x fastest. Throws Error(unreadableInput).
  std::function<void(std::byte* buffer)> read;
};

/// Opens a file, or a folder with one DICOM series, with ITK's reader of its format, and checks its header.
/// Throws as readImageHeader.
DecodedImage openByItk(const std::string& path, const ReadingOptions&);

/// Slices of DICOM files, of which `header` is that of the first one's file by ITK.
DecodedImage openDicom(const ImageHeader& header, DicomSeries);

/// Writes voxels (components interleaved, x fastest) in the format of the path's extension. Throws
/// std::exception with ITK's message.
void writeByItk(const std::string& path, const ImageHeader&, const void* voxels, bool compress);

}
