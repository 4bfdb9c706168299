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

/// Number of voxels that a thread converts at a time.
inline constexpr std::size_t convertedAtOnce = std::size_t(1) << 16;

template <int D>
struct LoadedImage {
  Image<D> image;                            // 0 for voxels that are NaN or infinite in the file
  std::size_t nanVoxels = 0;                 // the number of such voxels
  std::shared_ptr<Mask<D>> finiteVoxels;     // null if there are no such voxels
  std::vector<std::string> headerNotes = {}; // of a file
};

/// The number of voxels that are NaN or infinite.
std::size_t countNonFinite(std::span<const float> voxels, int threads);

/// Sets voxels that are not finite to 0 and makes the mask of the others. Throws Error(unreadableInput) if no
/// voxel is finite.
template <int D>
void setAsideNonFinite(const std::string& path, int threads, LoadedImage<D>& loaded);

/// Reads a file, or a folder with one DICOM series, of any pixel type. Colours become luminance with the Rec.
/// 709 weights of ITK: 0.2125 R + 0.7154 G + 0.0721 B, times opacity. Adds lines about the voxels to `notes`,
/// such as that values were rounded. Throws Error(unreadableInput), also for an image of vectors, and
/// Error(usage) if its dimension is not D.
template <int D>
LoadedImage<D> readImage(const std::string& path, const ReadingOptions&, std::vector<std::string>& notes,
                         int threads = 1);

/// Reads a mask of any pixel type: voxels other than 0 are inside, NaN is outside. A mask of more than two
/// values adds a line with the share that is inside to `notes`. Throws as readImage, and if the mask is
/// empty.
template <int D>
Mask<D> readMask(const std::string& path, const ReadingOptions&, int threads = 1,
                 std::vector<std::string>* notes = nullptr);

/// Reads an image of vectors with any number of components. Throws as readImage.
template <int D>
VectorImage<D> readVectorImage(const std::string& path, const ReadingOptions&, int threads = 1);

/// The grid of the volumes of such an image; see readVolumes, which throws the same.
template <int D>
ImageGeometry<D> geometryOfVolumes(const ImageHeader&);

/// Reads the volumes of an image of four or more axes, the fourth axis fastest; in 2D the pictures of an
/// image of three axes. Adds the notes of the header and lines about the voxels to `notes`. Throws
/// Error(unreadableInput), also for other axes or several components a voxel.
template <int D = 3>
std::vector<ImagePointer<D>> readVolumes(const std::string& path, const ReadingOptions&,
                                         std::vector<std::string>& notes, int threads = 1);

/// Writes an image in the format of the path's extension. Values are rounded to the nearest integer (half up)
/// and clamped for integer pixel types; NaN becomes 0. Existing files are replaced when the new ones are
/// complete. Compressed files have the same bytes for any number of threads. Throws Error(unwritableOutput).
template <int D>
void writeImage(const std::string& path, const Image<D>& image, PixelType type, bool compress,
                int threads = 1);

/// writeImage for several components a voxel, stored as float.
template <int D>
void writeVectorImage(const std::string& path, const VectorImage<D>& image, bool compress, int threads = 1,
                      PixelType type = PixelType::float32);

class ImageStream;
class OutputDigests;

/// Writes voxels that have the pixel type of the file already, components interleaved. `digests` as for an
/// ImageStream. Throws Error(unwritableOutput).
template <int D>
void writeStoredImage(const std::string& path, const ImageGeometry<D>&, PixelType type, int components,
                      std::span<const std::byte> voxels, bool compress, int threads,
                      OutputDigests* digests = nullptr);

/// An image file that is written slab by slab. It has the same bytes as if it were written at once.
template <int D>
class ImageFileSlabs {
public:
  /// Whether the format of the path can be written slab by slab.
  static bool writes(const std::string& path, const ImageGeometry<D>& geometry, int components);

  /// Throws Error(unwritableOutput), also for a format that writes() denies.
  ImageFileSlabs(const std::string& path, const ImageGeometry<D>& geometry, PixelType type, int components,
                 bool compress, int threads, OutputDigests* digests = nullptr);
  ~ImageFileSlabs();

  /// Writes the next voxels, x fastest, components interleaved, rounded as by writeImage. Throws
  /// Error(unwritableOutput).
  void write(std::span<const float> values);
  /// Writes the next voxels, which have the pixel type of the file already.
  void writeStored(std::span<const std::byte> bytes);
  /// Completes the file after the last voxel.
  void commit();

private:
  PixelType type_;
  int threads_;
  std::unique_ptr<ImageStream> stream_;
};

}
