#pragma once

#include "Core/Image/Files/ImageHeader.h"
#include "Core/Image/Voxels/PixelRounding.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>

namespace tessera {

// The conversion of a file's values, for all readers.

template <class T>
TESSERA_HOST_DEVICE double opaque()
{
  return std::is_integral_v<T> ? static_cast<double>(std::numeric_limits<T>::max()) : 1;
}

/// The luminance of a grey or colour voxel, with or without opacity as the last component, by ITK's rule (see
/// readImage). `step` is the distance of its components in values.
template <class T>
TESSERA_HOST_DEVICE float luminance(const T* in, std::size_t components, std::size_t step = 1)
{
  const auto component = [&](std::size_t c) { return static_cast<float>(in[c * step]); };
  double grey = component(0);
  if (components >= 3)
    grey = (2125.0 * component(0) + 7154.0 * component(1) + 721.0 * component(2)) / 10000.0;
  const bool hasOpacity = components % 2 == 0;
  return static_cast<float>(
      hasOpacity ? grey * (static_cast<double>(in[(components - 1) * step]) / opaque<T>()) : grey);
}

/// The number of values that float cannot hold exactly.
template <class T>
std::size_t countRounded(std::span<const T> values)
{
  if constexpr (std::is_integral_v<T> && sizeof(T) >= sizeof(float))
    return values.size()
           - static_cast<std::size_t>(std::count_if(values.begin(), values.end(), isExactInFloat<T>));
  else
    return 0;
}

/// The texts of notes for users.
inline std::string roundedNote(const std::string& path, std::size_t count)
{
  return path + ": " + std::to_string(count)
         + " whole numbers above 2^24 are rounded to single precision; label maps keep theirs "
           "(tessera-transform --labels)";
}

inline std::string luminanceNote(const ImageHeader& header)
{
  return header.path
         + (header.components == 2 ? ": grey with opacity, read as their product"
                                   : ": colour, read as luminance");
}

/// Whether a voxel of this value is inside a mask.
template <class T>
std::uint8_t isInsideMask(T value)
{
  return value != 0 && value == value;
}

/// Throws Error(outOfMemory) if the image at `bytesAVoxel`, together with `bytesInFile` in the type of the
/// file, does not fit into memory.
void requireImageMemory(const ImageHeader&, std::size_t bytesAVoxel, std::size_t bytesInFile = 0);

/// Throws Error(unreadableInput) for a mask without a voxel inside.
void requireInside(const std::string& path, std::span<const std::uint8_t> mask);

/// Throws Error(unreadableInput) for an image without a finite voxel.
[[noreturn]] void failNoneFinite(const std::string& path, std::size_t voxels);

}
