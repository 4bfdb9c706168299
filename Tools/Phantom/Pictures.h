#pragma once

#include "Core/Image/Image.h"

namespace tessera {

/// Grey limits shown as black and white.
struct Window {
  float black = 0, white = 1;
};

/// Axial slice (z = `slice`) as 0..255; x right, y down, voxels as pixels.
Image<2> axialSlice(const Image<3>& image, std::size_t slice, Window window);

/// Squares of `squarePixels` taken in turn from two pictures of one size.
Image<2> checkerboard(const Image<2>& first, const Image<2>& second, std::size_t squarePixels);

/// Mid grey where equal, brighter where `second` is brighter.
Image<2> differencePicture(const Image<2>& first, const Image<2>& second);

}
