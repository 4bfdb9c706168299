#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

using Colour = std::array<std::uint8_t, 3>; // red, green, blue

/// A picture whose pixels are numbers of colours, x fastest.
struct IndexedPicture {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> pixels; // each less than the number of colours
};

constexpr std::size_t scaleColours = 64;
/// So many colours between those given, in equal steps.
std::vector<Colour> colourScale(const std::vector<Colour>& given);

/// A JPEG file in memory of grey values or of red, green and blue in turn, x fastest. `quality` is that of
/// libjpeg, from 1 to 100. Throws Error(outOfMemory).
std::string jpegBytes(const std::vector<std::uint8_t>& values, std::size_t width, std::size_t height,
                      int quality);

/// A PNG file in memory with a palette of at most 256 colours; the first one is transparent if
/// `isFirstTransparent`. Throws Error(outOfMemory).
std::string pngBytes(const IndexedPicture&, const std::vector<Colour>& palette, bool isFirstTransparent);

/// A PNG file in memory of pixels in any colours, x fastest. Throws Error(outOfMemory).
std::string pngBytes(const std::vector<Colour>& pixels, std::size_t width);

}
