#pragma once

#include "Core/Compute/Math/Random.h"
#include "Core/Image/Filters/RecursiveGaussian.h"
#include "Testing/Support/Host.h"

#include <memory>

namespace tessera::testing {

/// Smoothed noise, moved by `shift` voxels.
inline ImagePointer<3> movedNoise(const Size<3>& size, const std::array<int, 3>& shift)
{
  auto image = std::make_shared<Image<3>>();
  image->geometry.size = size;
  image->geometry.spacingMm = {1, 1, 1};
  for (std::size_t z = 0; z < size[2]; ++z)
    for (std::size_t y = 0; y < size[1]; ++y)
      for (std::size_t x = 0; x < size[0]; ++x) {
        const auto at = [&](std::size_t i, std::size_t d) {
          return static_cast<std::uint32_t>(1000 + static_cast<int>(i) - shift[d]);
        };
        image->voxels.push_back(
            static_cast<float>(randomWords({}, at(x, 0) + 4096 * at(y, 1), at(z, 2))[0] % 2000));
      }
  *image = smoothRecursively<3>(host, *image, {1.2, 1.2, 1.2});
  return image;
}

}
