#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera {

/// A slice in square pixels.
struct Panel {
  std::size_t width = 0, height = 0;
  std::vector<float> values;
};

/// A line from the grey values of an image to values of a picture: scale * value + offset.
struct GreyLine {
  float scale = 0, offset = 0;
  float operator()(float value) const { return scale * value + offset; }
};

/// From 0 for the 0.5th to 255 for the 99.5th percentile of the values; 127.5 if these are equal.
GreyLine windowOf(std::vector<float> values);

/// The grey values of an image that a picture shows as black and as white.
struct GreyRange {
  float black = 0, white = 0;
  bool operator==(const GreyRange&) const = default;
  GreyLine line() const
  {
    return white > black ? GreyLine{255 / (white - black), -255 * black / (white - black)}
                         : GreyLine{0, 127.5F};
  }
};

/// The 0.5th and the 99.5th percentile of the values. The least and the greatest value do not count where
/// more than a hundredth of all have it, as a filling, air that is cut off or a background, unless all others
/// are equal.
GreyRange greyRangeOf(std::vector<float> values);

/// One range for both where they share at least half of it, as those of images of one kind do; else each its
/// own.
std::array<GreyRange, 2> greyRangesOf(const GreyRange& first, const GreyRange& second);

/// The nearest grey value from 0 to 255.
inline std::uint8_t greyLevel(float value)
{
  return static_cast<std::uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F));
}

}
