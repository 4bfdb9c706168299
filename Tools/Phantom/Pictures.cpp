#include "Tools/Phantom/Pictures.h"

#include <algorithm>

namespace tessera {

Image<2> axialSlice(const Image<3>& image, std::size_t slice, Window window)
{
  const Size<3>& size = image.geometry.size;
  Image<2> picture;
  picture.geometry.size = {size[0], size[1]};
  picture.geometry.spacingMm = {image.geometry.spacingMm[0], image.geometry.spacingMm[1]};
  const float* voxels = image.voxels.data() + slice * size[0] * size[1];
  for (std::size_t i = 0; i < size[0] * size[1]; ++i)
    picture.voxels.push_back(
        std::clamp(255 * (voxels[i] - window.black) / (window.white - window.black), 0.0f, 255.0f));
  return picture;
}

Image<2> checkerboard(const Image<2>& first, const Image<2>& second, std::size_t squarePixels)
{
  Image<2> picture = first;
  const std::size_t width = first.geometry.size[0];
  for (std::size_t i = 0; i < picture.voxels.size(); ++i)
    if ((i % width / squarePixels + i / width / squarePixels) % 2)
      picture.voxels[i] = second.voxels[i];
  return picture;
}

Image<2> differencePicture(const Image<2>& first, const Image<2>& second)
{
  Image<2> picture = first;
  for (std::size_t i = 0; i < picture.voxels.size(); ++i)
    picture.voxels[i] = 127.5f + (second.voxels[i] - first.voxels[i]) / 2;
  return picture;
}

}
