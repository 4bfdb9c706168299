#pragma once

#include "Core/Image/ImageGeometry.h"
#include "Core/Image/Voxels/PixelType.h"

#include <string>
#include <vector>

namespace tessera {

/// What a voxel's components are.
enum class PixelMeaning {
  scalar,
  greyAlpha, // 2 components
  rgb,       // 3 components
  rgba,      // 4 components
  vector,    // anything else
};

/// What an image file says of itself before any voxel is read.
struct ImageHeader {
  std::string path;
  int dimension = 0; // axes of size 1 beyond the third are not counted
  std::vector<std::size_t> size;
  std::vector<double> spacingMm, originMm;    // one value an axis
  std::vector<std::vector<double>> direction; // [row][column]
  int components = 1;
  PixelType componentType = PixelType::float32;
  PixelType typeInFile = PixelType::float32; // before values are scaled
  PixelMeaning meaning = PixelMeaning::scalar;
  bool isReadWhole = true; // its values become floats only when all of them are in the host's memory
  bool hasRanges = false;  // any of its voxels can be read alone

  std::size_t voxelCount() const;
};

/// Reads no voxels. `path` is an image file or a folder with one DICOM series.
/// Throws Error(unreadableInput): no such file, no image format that is known, spacing not above zero,
/// singular direction, several DICOM series.
ImageHeader readImageHeader(const std::string& path);

/// Throws Error(usage) if the image is not of dimension D.
template <int D>
ImageGeometry<D> geometryOf(const ImageHeader& header);

/// What (UseDirectionCosines "false") asks for: the same size, spacing and origin, axes along the
/// coordinates.
template <int D>
ImageGeometry<D> withIdentityDirection(ImageGeometry<D> geometry)
{
  geometry.direction = identityMatrix<D>();
  return geometry;
}

}
