#pragma once

#include "Testing/Support/Phantom.h"

#include <algorithm>
#include <cmath>

namespace tessera::testing {

/// Noise of mean 100 and standard deviation 40 in every voxel: no smoothness that could hide a mistake.
template <int D>
Image<D> noiseImage(const ImageGeometry<D>& geometry, std::uint64_t seed)
{
  Image<D> image{geometry, std::vector<float>(geometry.voxelCount(), 100.0f)};
  addNoise<D>(image, 40, seed);
  return image;
}

inline double largestMagnitude(const std::vector<float>& values)
{
  double largest = 0;
  for (const float value : values)
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

/// Infinite if the sizes differ.
inline double largestDifference(const std::vector<float>& a, const std::vector<float>& b)
{
  if (a.size() != b.size())
    return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return largest;
}

}
