#pragma once

#include "Core/Image/Files/ReadingOptions.h"
#include "Core/Image/ImageGeometry.h"
#include "Core/Image/Voxels/PixelType.h"

#include <string>
#include <vector>

namespace tessera {

/// The meaning of the components of a voxel.
enum class PixelMeaning {
  scalar,
  greyAlpha, // 2 components
  rgb,       // 3 components
  rgba,      // 4 components
  vector,    // anything else
};

/// The content of an image file's header.
struct ImageHeader {
  std::string path;
  int dimension = 0; // without axes of size 1 beyond the third
  std::vector<std::size_t> size;
  std::vector<double> spacingMm, originMm;    // one value an axis
  std::vector<std::vector<double>> direction; // [row][column]
  int components = 1;
  PixelType componentType = PixelType::float32;
  PixelType typeInFile = PixelType::float32; // before values are scaled
  PixelMeaning meaning = PixelMeaning::scalar;
  bool isReadWhole = true;        // it can only be read as a whole into host memory, not piece by piece
  bool hasRanges = false;         // any range of its voxels can be read without the others
  std::vector<std::string> notes; // lines for the user, which name the file

  std::size_t voxelCount() const;
};

/// Reads the header of an image file or of a folder with one DICOM series. Throws Error(unreadableInput) if
/// there is no such file, its format is not known, a spacing is not positive, the direction is singular, or a
/// folder has several series.
ImageHeader readImageHeader(const std::string& path, const ReadingOptions&);

/// A volume of one slice as an image in 2D with the slice's spacing. Its coordinates are x and y of the
/// patient if the slice lies in them, else mm along the slice's own axes. Other images stay.
ImageHeader asPlane(ImageHeader);

/// Says what a user can do with a file of several volumes where one is asked for.
constexpr const char* oneOfSeries = "Of a series cut one volume out before, or take the mean of all (fslroi "
                                    "IN OUT 0 1, fslmaths IN -Tmean OUT); "
                                    "tessera-transform -in applies a transform to every volume.";

/// A part of an image that has all voxels of these axes and one of the others; all of it if it has no others.
ImageHeader withFirstAxes(ImageHeader, int dimension);

/// The grid of the image; in 2D that of asPlane(). Throws Error(usage) if its dimension is not D.
template <int D>
ImageGeometry<D> geometryOf(const ImageHeader& header);

/// The header of an image on this grid that is in memory, or is to be written to `path`.
template <int D>
ImageHeader headerOf(const std::string& path, const ImageGeometry<D>&, PixelType = PixelType::float32,
                     int components = 1);

/// The grid for (UseDirectionCosines "false"): size, spacing and origin stay, the axes run along the
/// coordinates.
template <int D>
ImageGeometry<D> withIdentityDirection(ImageGeometry<D> geometry)
{
  geometry.direction = identityMatrix<D>();
  return geometry;
}

}
