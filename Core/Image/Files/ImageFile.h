#pragma once

#include "Core/Image/Files/ImageFormat.h"
#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/Image.h"
#include "Core/Image/Voxels/PixelType.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// Voxels that a thread converts at a time.
inline constexpr std::size_t convertedAtOnce = std::size_t(1) << 16;

template <int D>
struct LoadedImage {
  Image<D> image;                        // voxels that are NaN or infinite in the file are 0
  std::size_t nanVoxels = 0;             // how many those are
  std::shared_ptr<Mask<D>> finiteVoxels; // null if there are none of them
};

/// Finds what is not finite in voxels that were just read. Throws Error(unreadableInput) if none is.
template <int D>
void setAsideNonFinite(const std::string& path, int threads, LoadedImage<D>& loaded);

/// Reads a file, or a folder with one DICOM series, of any pixel type. Colour becomes luminance (Rec. 709
/// weights as ITK's: 0.2125 R + 0.7154 G + 0.0721 B, times opacity). `notes` receives one line for each thing
/// a user should know. Throws Error(unreadableInput), for an image of several components too, and
/// Error(usage) for another dimension than D.
template <int D>
LoadedImage<D> readImage(const std::string& path, std::vector<std::string>& notes, int threads = 1);

/// What is not zero is inside, whatever the pixel type; NaN is outside. Errors as readImage, and for an empty
/// mask.
template <int D>
Mask<D> readMask(const std::string& path, int threads = 1);

/// Reads a field of any number of components. Errors as readImage.
template <int D>
VectorImage<D> readVectorImage(const std::string& path, int threads = 1);

/// Writes to the format of the path's extension. Integer pixels are rounded to the nearest (half up) and
/// clamped to their range, NaN becomes 0. The files appear under their names only when they are whole; those
/// of that name are replaced. Compressed files have the same bytes for any number of threads. Throws
/// Error(unwritableOutput).
template <int D>
void writeImage(const std::string& path, const Image<D>& image, PixelType type, bool compress,
                int threads = 1);

/// The same for several components a voxel.
template <int D>
void writeVectorImage(const std::string& path, const VectorImage<D>& image, bool compress, int threads = 1,
                      PixelType type = PixelType::float32);

/// Writes voxels as they lie in memory, in the type of the file, components interleaved. Throws
/// Error(unwritableOutput).
template <int D>
void writeStoredImage(const std::string& path, const ImageGeometry<D>&, PixelType type, int components,
                      std::span<const std::byte> voxels, bool compress, int threads);

class ImageStream;

/// An image file that is written slab by slab, to the same bytes as in one piece.
template <int D>
class ImageFileSlabs {
public:
  /// Whether the path's format can be written so.
  static bool writes(const std::string& path, const ImageGeometry<D>& geometry, int components);

  /// Throws Error(unwritableOutput), also for other formats.
  ImageFileSlabs(const std::string& path, const ImageGeometry<D>& geometry, PixelType type, int components,
                 bool compress, int threads);
  ~ImageFileSlabs();

  /// The next voxels, x fastest, components interleaved; rounded as by writeImage. Throws
  /// Error(unwritableOutput).
  void write(std::span<const float> values);
  /// The next voxels as the file holds them.
  void writeStored(std::span<const std::byte> bytes);
  /// After the last voxel.
  void commit();

private:
  PixelType type_;
  int threads_;
  std::unique_ptr<ImageStream> stream_;
};

}
