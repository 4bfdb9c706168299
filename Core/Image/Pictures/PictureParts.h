#pragma once

#include "Core/Image/ImageGeometry.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera {

/// An anatomical plane: the axes of an image that run right and down in a picture and through it, and whether
/// an index falls along them.
struct Plane {
  int right = 0, down = 0, through = -1; // through: -1 in 2D
  bool fallsRight = false, fallsDown = false, fallsThrough = false;
};

/// In 3D the axial, coronal and sagittal plane, with the patient's left, back and head to the right, below
/// and above; axes that are oblique are taken for the nearest anatomical ones. In 2D the image's own axes.
template <int D>
std::vector<Plane> planesOf(const Matrix<D>& direction);

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
std::uint8_t greyLevel(float value);

}
