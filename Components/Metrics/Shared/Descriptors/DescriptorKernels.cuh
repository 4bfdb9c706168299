#pragma once

#include "Components/Metrics/Shared/Descriptors/DescriptorCell.h"
#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Image/Filters/SelfSimilarityDescriptor.h"

#include <cstdint>

// Linear interpolation of a SelfSimilarityDescriptor between voxels in kernels.
namespace tessera {

template <int D>
using DescriptorChannels = std::array<float, SelfSimilarityDescriptor<D>::channels>;

/// The voxels around a place, and their weights in linear interpolation.
template <int D>
struct DescriptorPlace {
  static constexpr std::size_t corners = std::size_t(1) << D;
  std::array<std::size_t, corners> voxel;
  std::array<float, corners> weight;
  std::array<std::array<float, corners>, D> slope; // the weights' derivatives by the index along each axis

  __device__ explicit DescriptorPlace(const DescriptorCell<D>& cell)
  {
#pragma unroll
    for (std::size_t corner = 0; corner < corners; ++corner) {
      voxel[corner] = cell.first;
      weight[corner] = 1;
#pragma unroll
      for (int d = 0; d < D; ++d)
        slope[d][corner] = 1;
#pragma unroll
      for (int d = 0; d < D; ++d) {
        const bool isAbove = (corner >> d & 1) != 0;
        voxel[corner] += isAbove ? cell.step[d] : 0;
        const float ofAxis = isAbove ? cell.share[d] : 1 - cell.share[d];
        weight[corner] *= ofAxis;
#pragma unroll
        for (int e = 0; e < D; ++e)
          slope[e][corner] *= e != d ? ofAxis : cell.step[d] == 0 ? 0.0f : isAbove ? 1.0f : -1.0f;
      }
    }
  }
};

/// The numbers of a voxel, 0 to 255.
template <int D>
__device__ __forceinline__ DescriptorChannels<D> numbersOf(const std::uint8_t* values, std::size_t voxel)
{
  DescriptorChannels<D> numbers;
  const auto* const words = reinterpret_cast<const std::uint32_t*>(values + numbers.size() * voxel);
#pragma unroll
  for (std::size_t word = 0; word < numbers.size() / 4; ++word) {
    const std::uint32_t four = __ldg(words + word);
#pragma unroll
    for (unsigned byte = 0; byte < 4; ++byte) // 2^23 + the byte, less 2^23
      numbers[4 * word + byte] = __uint_as_float(__byte_perm(four, 0x4b000000u, 0x7650u | byte)) - 0x1p23f;
  }
  return numbers;
}

template <int D>
__device__ DescriptorChannels<D> interpolated(const std::uint8_t* values, const DescriptorPlace<D>& place)
{
  DescriptorChannels<D> sum{};
#pragma unroll
  for (std::size_t corner = 0; corner < place.corners; ++corner) {
    const DescriptorChannels<D> numbers = numbersOf<D>(values, place.voxel[corner]);
#pragma unroll
    for (std::size_t k = 0; k < sum.size(); ++k)
      sum[k] = fmaf(place.weight[corner], numbers[k], sum[k]);
  }
  return sum;
}

/// The derivative by the index of sum_k v_k M_k.
template <int D>
__device__ Vec<D> slopeOf(const std::uint8_t* values, const DescriptorPlace<D>& place,
                          const DescriptorChannels<D>& v)
{
  std::array<float, D> slope{};
#pragma unroll
  for (std::size_t corner = 0; corner < place.corners; ++corner) {
    const DescriptorChannels<D> numbers = numbersOf<D>(values, place.voxel[corner]);
    float product = 0;
#pragma unroll
    for (std::size_t k = 0; k < v.size(); ++k)
      product = fmaf(v[k], numbers[k], product);
#pragma unroll
    for (int d = 0; d < D; ++d)
      slope[d] = fmaf(place.slope[d][corner], product, slope[d]);
  }
  Vec<D> result;
#pragma unroll
  for (int d = 0; d < D; ++d)
    result[d] = slope[d];
  return result;
}

/// (M - F) / 255 in each channel, in the place of M, and the sum of the squares.
template <int D>
__device__ float takeDifference(DescriptorChannels<D>& moving, const DescriptorChannels<D>& fixed)
{
  constexpr float perNumber = 1.0f / 255;
  float squares = 0;
#pragma unroll
  for (std::size_t k = 0; k < moving.size(); ++k) {
    moving[k] = (moving[k] - fixed[k]) * perNumber;
    squares = fmaf(moving[k], moving[k], squares);
  }
  return squares;
}

/// The factor of slopeOf in the derivative of the mean over the channels of the squared differences.
template <int D>
constexpr double factorOfSlope()
{
  return 2.0f * (1.0f / 255) / static_cast<float>(SelfSimilarityDescriptor<D>::channels);
}

}
