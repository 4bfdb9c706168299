#include "Core/Image/ImageFile.h"
#include "Core/Image/ImageWriter.h"

#include <cmath>
#include <limits>
#include <memory>

namespace tessera {
namespace {

/// Nearest integer (half up) inside the range of T; NaN becomes 0.
template <class T>
T toPixel(float value)
{
  if constexpr (std::is_floating_point_v<T>) {
    return value;
  } else if constexpr (sizeof(T) == 8) {
    constexpr double bound = 2.0 * (std::numeric_limits<T>::max() / 2 + 1); // the first that is too large
    if (!(value == value))
      return 0;
    if (value >= bound)
      return std::numeric_limits<T>::max();
    if (value <= static_cast<double>(std::numeric_limits<T>::min()))
      return std::numeric_limits<T>::min();
    return static_cast<T>(std::floor(value + 0.5));
  } else {
    using Wide = std::conditional_t<std::is_same_v<T, std::uint32_t>, std::int64_t, std::int32_t>;
    constexpr double low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    double shifted = value == value ? static_cast<double>(value) : 0.0;
    shifted = (shifted < low ? low : shifted > high ? high : shifted) + 0.5;
    const Wide towardsZero = static_cast<Wide>(shifted);
    return static_cast<T>(towardsZero - (static_cast<double>(towardsZero) > shifted));
  }
}

template <int D>
ImageHeader headerOf(const std::string& path, const ImageGeometry<D>& geometry, PixelType type, int components)
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
  header.componentType = type;
  return header;
}

}

template <int D>
void writeImage(const std::string& path, const Image<D>& image, PixelType type, bool compress)
{
  const ImageHeader header = headerOf(path, image.geometry, type, 1);
  if (type == PixelType::float32) {
    writeVoxels(path, header, image.voxels.data(), compress);
    return;
  }
  withPixelType(type, [&]<class T>(std::type_identity<T>) {
    const std::size_t count = image.voxels.size();
    const auto pixels = std::make_unique_for_overwrite<T[]>(count);
    const float* const voxels = image.voxels.data();
    T* const out = pixels.get();
    for (std::size_t i = 0; i < count; ++i)
      out[i] = toPixel<T>(voxels[i]);
    writeVoxels(path, header, out, compress);
  });
}

template <int D>
void writeVectorImage(const std::string& path, const VectorImage<D>& image, bool compress)
{
  writeVoxels(path, headerOf(path, image.geometry, PixelType::float32, image.components), image.voxels.data(), compress);
}

template void writeImage<2>(const std::string&, const Image<2>&, PixelType, bool);
template void writeImage<3>(const std::string&, const Image<3>&, PixelType, bool);
template void writeVectorImage<2>(const std::string&, const VectorImage<2>&, bool);
template void writeVectorImage<3>(const std::string&, const VectorImage<3>&, bool);

}
