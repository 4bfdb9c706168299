#pragma once

#include "Core/Compute/HostDevice.h"
#include "Core/Image/Filters/SelfSimilarityDescriptor.h"

#include <array>
#include <cmath>
#include <cstdint>

// The mathematics of a voxel of SelfSimilarityDescriptor, for the CPU and for CUDA.
namespace tessera::selfsimilarity {

/// A place between voxels, as the voxels around it that count there.
template <int D>
struct Neighbour {
  struct Part {
    std::array<int, D> step{};
    float weight = 0;
  };
  std::array<Part, std::size_t(1) << D> parts{};
  int count = 0;

  Neighbour() = default;
  explicit Neighbour(const Vec<D>& offsetVoxels)
  {
    for (std::size_t corner = 0; corner < parts.size(); ++corner) {
      Part part{{}, 1};
      for (int d = 0; d < D; ++d) {
        const double below = std::floor(offsetVoxels[d] + 1e-9), share = offsetVoxels[d] - below;
        const bool isAbove = (corner >> d & 1) != 0;
        part.step[d] = static_cast<int>(below) + isAbove;
        const double rounded = share < 1e-6 ? 0 : share;
        part.weight *= static_cast<float>(isAbove ? rounded : 1 - rounded);
      }
      if (part.weight > 0)
        parts[count++] = part;
    }
  }

  TESSERA_HOST_DEVICE float in(const float* voxels, const std::array<int, D>& size,
                               const std::array<int, D>& voxel) const
  {
    float value = 0;
    for (int i = 0; i < count; ++i) {
      std::size_t offset = 0, stride = 1;
      TESSERA_UNROLL
      for (int d = 0; d < D; ++d) {
        const int at = voxel[d] + parts[i].step[d], inside = at < 0 ? 0 : at < size[d] ? at : size[d] - 1;
        offset += stride * static_cast<std::size_t>(inside);
        stride *= static_cast<std::size_t>(size[d]);
      }
      value += parts[i].weight * voxels[offset];
    }
    return value;
  }
};

template <int D>
struct NeighbourPair {
  Neighbour<D> a, b;

  TESSERA_HOST_DEVICE float squaredDifference(const float* voxels, const std::array<int, D>& size,
                                              const std::array<int, D>& voxel) const
  {
    const float difference = a.in(voxels, size, voxel) - b.in(voxels, size, voxel);
    return difference * difference;
  }
};

template <int D>
using Channels = std::array<float, SelfSimilarityDescriptor<D>::channels>;

/// The pairs that do not lie opposite, in the order of their axes.
template <int D>
std::array<NeighbourPair<D>, SelfSimilarityDescriptor<D>::channels> neighbourPairs(const Matrix<D>& steps)
{
  std::array<Neighbour<D>, 2 * D> neighbours;
  for (int j = 0; j < 2 * D; ++j) {
    Vec<D> offset;
    for (int d = 0; d < D; ++d)
      offset[d] = (j % 2 == 0 ? 1 : -1) * steps[d][j / 2];
    neighbours[j] = Neighbour<D>(offset);
  }
  std::array<NeighbourPair<D>, SelfSimilarityDescriptor<D>::channels> pairs;
  std::size_t count = 0;
  for (int i = 0; i < 2 * D; ++i)
    for (int j = i + 1; j < 2 * D; ++j)
      if (i / 2 != j / 2)
        pairs[count++] = {neighbours[i], neighbours[j]};
  return pairs;
}

/// The sigma of the Gaussian along each axis: the lengths of the rows of `steps`.
template <int D>
Vec<D> sigmaOf(const Matrix<D>& steps)
{
  Vec<D> sigmaVoxels{};
  for (int d = 0; d < D; ++d) {
    for (int column = 0; column < D; ++column)
      sigmaVoxels[d] += steps[d][column] * steps[d][column];
    sigmaVoxels[d] = std::sqrt(sigmaVoxels[d]);
  }
  return sigmaVoxels;
}

/// Takes their least off the smoothed squares of a voxel and returns the mean of what is left, V.
template <int D>
TESSERA_HOST_DEVICE float takeLeast(Channels<D>& differences)
{
  float least = differences[0], sum = 0;
  TESSERA_UNROLL
  for (std::size_t k = 1; k < SelfSimilarityDescriptor<D>::channels; ++k)
    least = differences[k] < least ? differences[k] : least;
  TESSERA_UNROLL
  for (std::size_t k = 0; k < SelfSimilarityDescriptor<D>::channels; ++k)
    sum += differences[k] -= least;
  return sum / SelfSimilarityDescriptor<D>::channels;
}

/// The bounds of V, from its mean over the image.
struct Variances {
  float low, high;

  TESSERA_HOST_DEVICE explicit Variances(double mean)
  {
    const double ofImage = mean > 1e-30 ? mean : 1e-30; // a constant image
    low = static_cast<float>(0.001 * ofImage);
    high = static_cast<float>(1000 * ofImage);
  }
  TESSERA_HOST_DEVICE float clamped(float variance) const
  {
    return variance < low ? low : variance > high ? high : variance;
  }
};

TESSERA_HOST_DEVICE inline std::uint8_t number(float difference, float variance)
{
  return static_cast<std::uint8_t>(255 * std::exp(-difference / variance) + 0.5f);
}

}
