#pragma once

#include "Core/Image/Image.h"
#include "Core/Image/Pictures/PictureParts.h"

#include <array>
#include <cstdint>
#include <vector>

namespace tessera {

/// A colour picture: red, green and blue of each pixel, x fastest.
struct Picture {
  std::size_t width = 0, height = 0;
  std::vector<std::array<std::uint8_t, 3>> pixels;
};

enum class Comparison {
  checkerboard, // squares of both images in turn, each in its own window of grey values
  difference,   // second minus first image, both z-scored: black -3, grey 0, white 3 standard deviations
  edges,        // the second image with the edges of the first over it
};

/// The slices of pictureSlices() through a voxel, linear between voxels. Pixels are squares of the smallest
/// spacing.
template <int D>
std::vector<Panel> panelsThrough(const Image<D>&, const Size<D>& voxel);

/// Shows slices through a voxel: in 3D side by side the axial, coronal and sagittal one, with the patient's
/// left, back and head to the right, below and above; in 2D the image itself. Axes that are oblique are
/// taken for the nearest anatomical ones. Pixels are squares of the smallest spacing in mm. Grey values run
/// from the 0.5th to the 99.5th percentile of each image. `use` is empty, or has 0 for voxels that do not
/// count for the z-scores. Both images have one grid.
template <int D>
Picture comparisonPicture(Comparison, const Image<D>& first, const Image<D>& second,
                          const std::vector<std::uint8_t>& use, const Size<D>& voxel);

}
