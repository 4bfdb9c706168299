#include "Core/Image/Files/ImageHeader.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageSource.h"

namespace tessera {

std::size_t ImageHeader::voxelCount() const
{
  std::size_t count = 1;
  for (std::size_t length : size)
    count *= length;
  return count;
}

ImageHeader readImageHeader(const std::string& path, const ReadingOptions& reading)
{
  return openImage(path, reading)->header();
}

template <int D>
ImageGeometry<D> geometryOf(const ImageHeader& header)
{
  if (header.dimension != D)
    throw Error(ExitCode::usage,
                header.path + ": dimension " + std::to_string(header.dimension) + ": an image of dimension "
                    + std::to_string(D) + " is asked for here. Allowed: one image of dimension "
                    + std::to_string(D) + "; a file of several volumes must be split first.");
  ImageGeometry<D> geometry;
  for (int i = 0; i < D; ++i) {
    geometry.size[i] = header.size[i];
    geometry.spacingMm[i] = header.spacingMm[i];
    geometry.originMm[i] = header.originMm[i];
    for (int j = 0; j < D; ++j)
      geometry.direction[i][j] = header.direction[i][j];
  }
  return geometry;
}

template <int D>
ImageHeader headerOf(const std::string& path, const ImageGeometry<D>& geometry, PixelType type,
                     int components)
{
  ImageHeader header;
  header.path = path;
  header.dimension = D;
  header.size.assign(geometry.size.begin(), geometry.size.end());
  header.spacingMm.assign(geometry.spacingMm.begin(), geometry.spacingMm.end());
  header.originMm.assign(geometry.originMm.begin(), geometry.originMm.end());
  for (const auto& row : geometry.direction)
    header.direction.emplace_back(row.begin(), row.end());
  header.components = components;
  header.componentType = header.typeInFile = type;
  return header;
}

template ImageHeader headerOf(const std::string&, const ImageGeometry<2>&, PixelType, int);
template ImageHeader headerOf(const std::string&, const ImageGeometry<3>&, PixelType, int);
template ImageGeometry<2> geometryOf<2>(const ImageHeader&);
template ImageGeometry<3> geometryOf<3>(const ImageHeader&);

}
