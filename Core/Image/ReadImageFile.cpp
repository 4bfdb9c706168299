#include "Core/Compute/Error.h"
#include "Core/Compute/Memory.h"
#include "Core/Image/ImageFile.h"
#include "Core/Image/ImageSource.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace tessera {
namespace {

/// Voxels as the file holds them.
struct RawVoxels {
  std::unique_ptr<std::byte[]> bytes;
  std::size_t count = 0; // components of all voxels

  template <class T>
  const T* as() const
  {
    return reinterpret_cast<const T*>(bytes.get());
  }
};

/// For what the file holds, unless it is read in place, and for what becomes of it.
void requireImageMemory(const ImageSource& source, std::size_t bytesAVoxel)
{
  const ImageHeader& header = source.header();
  const std::size_t inFile = header.componentType == PixelType::float32 ? 0 : source.byteCount();
  requireMemory(extentCount(header.size) * static_cast<double>(bytesAVoxel) + static_cast<double>(inFile),
                header.path + ": an image of " + extentText(header.size) + " voxels", "a smaller image, or more memory");
}

RawVoxels readRaw(ImageSource& source, std::vector<std::string>& notes)
{
  RawVoxels raw{std::make_unique_for_overwrite<std::byte[]>(source.byteCount()),
                source.header().voxelCount() * source.header().components};
  source.read(raw.bytes.get(), notes);
  return raw;
}

template <class T>
double opaque()
{
  return std::is_integral_v<T> ? static_cast<double>(std::numeric_limits<T>::max()) : 1;
}

/// Grey or colour, with or without opacity as the last component.
template <class T>
void luminance(const T* in, int components, std::size_t voxels, float* out)
{
  const bool hasOpacity = components % 2 == 0;
  for (std::size_t i = 0; i < voxels; ++i, in += components) {
    double grey = static_cast<float>(in[0]);
    if (components >= 3)
      grey =
          (2125.0 * static_cast<float>(in[0]) + 7154.0 * static_cast<float>(in[1]) + 721.0 * static_cast<float>(in[2])) / 10000.0;
    out[i] = static_cast<float>(hasOpacity ? grey * (static_cast<double>(in[components - 1]) / opaque<T>()) : grey);
  }
}

void refuseVectors(const ImageHeader& header)
{
  if (header.meaning == PixelMeaning::vector)
    throw Error(ExitCode::unreadableInput, header.path + ": " + std::to_string(header.components)
                                               + " components a voxel: an image of one component is asked for here. Allowed: one "
                                                 "component, or colour (red, green, blue, with or without opacity).");
}

/// One component of float a voxel. Float files are read in place.
std::vector<float> readScalars(ImageSource& source, std::vector<std::string>& notes)
{
  const ImageHeader& header = source.header();
  refuseVectors(header);
  requireImageMemory(source, sizeof(float));
  std::vector<float> voxels(header.voxelCount());
  if (header.components == 1 && header.componentType == PixelType::float32) {
    source.read(voxels.data(), notes);
    return voxels;
  }
  const RawVoxels raw = readRaw(source, notes);
  withPixelType(header.componentType, [&]<class T>(std::type_identity<T>) {
    if (header.components > 1)
      luminance(raw.as<T>(), header.components, voxels.size(), voxels.data());
    else
      std::transform(raw.as<T>(), raw.as<T>() + raw.count, voxels.begin(), [](T value) { return static_cast<float>(value); });
  });
  return voxels;
}

template <int D>
void setAsideNonFinite(const std::string& path, LoadedImage<D>& loaded)
{
  std::vector<float>& voxels = loaded.image.voxels;
  loaded.nanVoxels = std::count_if(voxels.begin(), voxels.end(), [](float value) { return !std::isfinite(value); });
  if (loaded.nanVoxels == 0)
    return;
  if (loaded.nanVoxels == voxels.size())
    throw Error(ExitCode::unreadableInput, path + ": none of its " + std::to_string(voxels.size())
                                               + " voxels is a finite number. Allowed: an image with values.");
  std::vector<std::uint8_t> finite(voxels.size());
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    finite[i] = std::isfinite(voxels[i]);
    voxels[i] = finite[i] ? voxels[i] : 0.0f;
  }
  loaded.finiteVoxels = std::make_shared<const Mask<D>>(loaded.image.geometry, std::move(finite));
}

}

template <int D>
LoadedImage<D> readImage(const std::string& path, std::vector<std::string>& notes)
{
  const std::unique_ptr<ImageSource> source = openImage(path);
  LoadedImage<D> loaded;
  loaded.image.geometry = geometryOf<D>(source->header());
  loaded.image.voxels = readScalars(*source, notes);
  if (source->header().components > 1)
    notes.push_back(
        path + (source->header().components == 2 ? ": grey with opacity, read as their product" : ": colour, read as luminance"));
  if (source->header().componentType == PixelType::float32 || source->header().componentType == PixelType::float64)
    setAsideNonFinite(path, loaded);
  return loaded;
}

template <int D>
Mask<D> readMask(const std::string& path)
{
  const std::unique_ptr<ImageSource> source = openImage(path);
  const ImageHeader& header = source->header();
  const ImageGeometry<D> geometry = geometryOf<D>(header);
  refuseVectors(header);
  std::vector<std::string> notes;
  requireImageMemory(*source, sizeof(std::uint8_t));
  std::vector<std::uint8_t> inside(header.voxelCount());
  const auto isInside = [](auto value) { return static_cast<std::uint8_t>(value != 0 && value == value); };
  if (header.components > 1) {
    const std::vector<float> voxels = readScalars(*source, notes);
    std::transform(voxels.begin(), voxels.end(), inside.begin(), isInside);
  } else {
    const RawVoxels raw = readRaw(*source, notes);
    withPixelType(header.componentType, [&]<class T>(std::type_identity<T>) {
      std::transform(raw.as<T>(), raw.as<T>() + raw.count, inside.begin(), isInside);
    });
  }
  if (std::find(inside.begin(), inside.end(), 1) == inside.end())
    throw Error(ExitCode::unreadableInput,
                path + ": a mask of " + std::to_string(inside.size())
                    + " voxels: it is empty, every voxel is zero. Allowed: a mask with at least one voxel "
                      "that is not zero.");
  return Mask<D>(geometry, std::move(inside));
}

template <int D>
VectorImage<D> readVectorImage(const std::string& path)
{
  const std::unique_ptr<ImageSource> source = openImage(path);
  const ImageHeader& header = source->header();
  std::vector<std::string> notes;
  requireImageMemory(*source, header.components * sizeof(float));
  VectorImage<D> image{geometryOf<D>(header), header.components, {}};
  image.voxels.resize(header.voxelCount() * header.components);
  if (header.componentType == PixelType::float32) {
    source->read(image.voxels.data(), notes);
    return image;
  }
  const RawVoxels raw = readRaw(*source, notes);
  withPixelType(header.componentType, [&]<class T>(std::type_identity<T>) {
    std::transform(raw.as<T>(), raw.as<T>() + raw.count, image.voxels.begin(), [](T value) { return static_cast<float>(value); });
  });
  return image;
}

template LoadedImage<2> readImage<2>(const std::string&, std::vector<std::string>&);
template LoadedImage<3> readImage<3>(const std::string&, std::vector<std::string>&);
template Mask<2> readMask<2>(const std::string&);
template Mask<3> readMask<3>(const std::string&);
template VectorImage<2> readVectorImage<2>(const std::string&);
template VectorImage<3> readVectorImage<3>(const std::string&);

}
