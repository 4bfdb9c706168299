#include "Core/Image/Files/ImageHeader.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageSource.h"

#include <algorithm>
#include <cmath>

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

ImageHeader withFirstAxes(ImageHeader header, int dimension)
{
  header.dimension = std::min(header.dimension, dimension);
  header.size.resize(header.dimension);
  header.spacingMm.resize(header.dimension);
  header.originMm.resize(header.dimension);
  header.direction.resize(header.dimension);
  for (std::vector<double>& row : header.direction)
    row.resize(header.dimension);
  return header;
}

ImageHeader asPlane(ImageHeader header)
{
  if (header.dimension != 3 || header.size[2] != 1)
    return header;
  constexpr double rounded = 1e-5; // headers round to float
  const std::vector<std::vector<double>> axes = header.direction;
  const std::vector<double> originMm = header.originMm;
  const bool isAxial = std::abs(axes[2][0]) < rounded && std::abs(axes[2][1]) < rounded;
  header = withFirstAxes(std::move(header), 2);
  for (int axis = 0; axis < 2 && !isAxial; ++axis) {
    header.originMm[axis] = 0;
    for (int row = 0; row < 3; ++row)
      header.originMm[axis] += axes[row][axis] * originMm[row];
    header.direction[axis] = {axis == 0 ? 1.0 : 0.0, axis == 1 ? 1.0 : 0.0};
  }
  header.notes.push_back(header.path + ": its one slice is taken as an image in 2D"
                         + (isAxial ? "" : ", whose coordinates run along the axes of the slice"));
  return header;
}

template <int D>
ImageGeometry<D> geometryOf(const ImageHeader& header)
{
  if (D == 2 && header.dimension == 3 && header.size[2] == 1)
    return geometryOf<D>(asPlane(header));
  if (header.dimension != D)
    throw Error(ExitCode::usage, header.path + ": dimension " + std::to_string(header.dimension)
                                     + ": an image of dimension " + std::to_string(D)
                                     + " is asked for here. Allowed: one image of dimension "
                                     + std::to_string(D) + (D == 2 ? ", or of one slice." : ".")
                                     + (header.dimension > 3 ? std::string(" ") + oneOfSeries : ""));
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

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(headerOf<D>, geometryOf<D>);

}
