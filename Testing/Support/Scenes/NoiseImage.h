#pragma once

#include "Testing/Support/Checks/Differences.h"
#include "Testing/Support/Host.h"
#include "Testing/Support/Scenes/Phantom.h"

namespace tessera::testing {

/// Noise of mean 100 and standard deviation 40 in every voxel: no smoothness that could hide a mistake.
template <int D>
Image<D> noiseImage(const ImageGeometry<D>& geometry, std::uint64_t seed)
{
  Image<D> image{geometry, std::vector<float>(geometry.voxelCount(), 100.0f)};
  addNoise<D>(image, 40, seed);
  return image;
}

/// An image of 16 x 12 x 10 bytes of noise, which does not compress. Its first voxel is 0.
inline Image<3> byteNoise()
{
  Image<3> image{centredGeometry<3>({16, 12, 10}, {1, 1, 1}), {0}};
  for (std::uint32_t i = 1; i < image.geometry.voxelCount(); ++i)
    image.voxels.push_back(static_cast<float>(randomWords({}, i, 0)[0] % 256));
  return image;
}

}
