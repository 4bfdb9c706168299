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
  /// Adds a line to the notes of the header, unless it is empty.
  void addNote(std::string line)
  {
    if (!line.empty())
      header_.notes.push_back(std::move(line));
  }

  /// The number of bytes that read() fills: components interleaved, x fastest, in the header's component
  /// type.
  std::size_t byteCount() const
  {
    return header_.voxelCount() * header_.components * pixelTypeSize(header_.componentType);
  }

  /// Reads all voxels, and adds lines for the user to `notes`. Throws Error(unreadableInput).
  virtual void read(std::byte* buffer, int threads, std::vector<std::string>& notes) = 0;

  /// Reads all voxels piece by piece, so that they need not be in memory in the type of the file.
  virtual void read(const VoxelConsumer& consumer, int threads, std::vector<std::string>& notes);

  /// The place of the voxels in their file, if they can be read without a library; else null. Their values
  /// may have to be scaled.
  virtual const VoxelPlace* place() const { return nullptr; }

protected:
  ImageHeader header_; // with isReadWhole, reading by pieces still needs memory for all voxels
};

/// Opens a file or folder and checks its header: in another process where ImageProcess runs. Throws as
/// readImageHeader.
std::unique_ptr<ImageSource> openImage(const std::string& path, const ReadingOptions&);

/// The same in this process.
std::unique_ptr<ImageSource> openImageHere(const std::string& path, const ReadingOptions&);

/// An image whose voxels are read without a library.
std::unique_ptr<ImageSource> makePlacedSource(ImageHeader, VoxelPlace);

struct DicomSeries;

/// Slices of DICOM files, of which `header` is that of the first one's file by ITK.
std::unique_ptr<ImageSource> openDicom(const ImageHeader& header, DicomSeries);

/// Throws Error(unreadableInput) if the geometry of a header makes no sense: a spacing that is not positive,
/// a singular direction, NaN, or no voxels.
void checkGeometry(const ImageHeader& header);

}
