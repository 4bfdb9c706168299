#pragma once

#include "Core/Compute/Cuda/LoadConstant.h"
#include "Core/Image/Filters/SelfSimilarityDescriptor.h"

#include <array>
#include <cmath>
#include <cstdint>

// Linear interpolation of a SelfSimilarityDescriptor between voxels, for the CPU and for CUDA.
namespace tessera {

template <int D>
using DescriptorChannels = std::array<float, SelfSimilarityDescriptor<D>::channels>;

/// The voxels around a place, and their weights in linear interpolation.
template <int D>
struct DescriptorPlace {
  static constexpr std::size_t corners = std::size_t(1) << D;
  /// A place so little (in voxels) before a voxel is at that voxel, so that rounding does not decide which
  /// slope it has where both images have one grid.
  static constexpr double nearVoxel = 0x1p-18;
  std::array<std::size_t, corners> voxel;
  std::array<float, corners> weight;
  std::array<std::array<float, corners>, D> slope; // the weights' derivatives by the index along each axis

  /// False: the place lies more than half a voxel beyond the image. Nearer ones have the border's values.
  template <class Sizes>
  TESSERA_HOST_DEVICE bool setTo(const Sizes& size, const Vec<D>& index)
  {
    TESSERA_UNROLL
    for (std::size_t corner = 0; corner < corners; ++corner) {
      voxel[corner] = 0;
      weight[corner] = 1;
      TESSERA_UNROLL
      for (int d = 0; d < D; ++d)
        slope[d][corner] = 1;
    }
    bool inside = true;
    std::size_t stride = 1;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      const double last = static_cast<double>(size[d]) - 1;
      inside = inside && index[d] >= -0.5 && index[d] < last + 0.5;
      const double within = !(index[d] > 0)   ? 0
                            : index[d] < last ? index[d]
                                              : last,
                   from = std::floor(within + nearVoxel), below = from < last ? from : last;
      const auto share = static_cast<float>(within - below);
      const auto first = static_cast<std::size_t>(below);
      const bool isBorder = !(below < last), hasSlope = !isBorder && index[d] > -nearVoxel;
      TESSERA_UNROLL
      for (std::size_t corner = 0; corner < corners; ++corner) {
        const bool isAbove = (corner >> d & 1) != 0;
        voxel[corner] += stride * (first + (isAbove && !isBorder ? 1 : 0));
        const float ofAxis = isAbove ? share : 1 - share;
        weight[corner] *= ofAxis;
        TESSERA_UNROLL
        for (int e = 0; e < D; ++e)
          slope[e][corner] *= e != d ? ofAxis : !hasSlope ? 0.0f : isAbove ? 1.0f : -1.0f;
      }
      stride *= static_cast<std::size_t>(size[d]);
    }
    return inside;
  }
};

/// The numbers of a voxel, 0 to 255.
template <int D>
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE DescriptorChannels<D> numbersOf(const std::uint8_t* values,
                                                                          std::size_t voxel)
{
  DescriptorChannels<D> numbers;
  const std::uint8_t* const ofVoxel = values + numbers.size() * voxel;
#ifdef __CUDA_ARCH__
  TESSERA_UNROLL
  for (std::size_t word = 0; word < numbers.size() / 4; ++word) {
    const std::uint32_t four = __ldg(reinterpret_cast<const std::uint32_t*>(ofVoxel) + word);
    TESSERA_UNROLL
    for (unsigned byte = 0; byte < 4; ++byte) // 2^23 + the byte, less 2^23
      numbers[4 * word + byte] = __uint_as_float(__byte_perm(four, 0x4b000000u, 0x7650u | byte)) - 0x1p23f;
  }
#else
  for (std::size_t k = 0; k < numbers.size(); ++k)
    numbers[k] = static_cast<float>(ofVoxel[k]);
#endif
  return numbers;
}

/// sum + factor * number; on CUDA it is rounded once.
TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE float sumWithProduct(float sum, float factor, float number)
{
#ifdef __CUDA_ARCH__
  return fmaf(factor, number, sum);
#else
  return sum + factor * number;
#endif
}

template <int D>
TESSERA_HOST_DEVICE DescriptorChannels<D> interpolated(const std::uint8_t* values,
                                                       const DescriptorPlace<D>& place)
{
  DescriptorChannels<D> sum{};
  TESSERA_UNROLL
  for (std::size_t corner = 0; corner < place.corners; ++corner) {
#ifdef __CUDA_ARCH__
    const DescriptorChannels<D> numbers = numbersOf<D>(values, place.voxel[corner]);
    TESSERA_UNROLL
    for (std::size_t k = 0; k < sum.size(); ++k)
      sum[k] = sumWithProduct(sum[k], place.weight[corner], numbers[k]);
#else
    const std::uint8_t* const numbers = values + sum.size() * place.voxel[corner];
    for (std::size_t k = 0; k < sum.size(); ++k)
      sum[k] += place.weight[corner] * static_cast<float>(numbers[k]);
#endif
  }
  return sum;
}

/// The derivative by the index of sum_k v_k M_k.
template <int D>
TESSERA_HOST_DEVICE Vec<D> slopeOf(const std::uint8_t* values, const DescriptorPlace<D>& place,
                                   const DescriptorChannels<D>& v)
{
  std::array<float, D> slope{};
  TESSERA_UNROLL
  for (std::size_t corner = 0; corner < place.corners; ++corner) {
    const DescriptorChannels<D> numbers = numbersOf<D>(values, place.voxel[corner]);
    float product = 0;
    TESSERA_UNROLL
    for (std::size_t k = 0; k < v.size(); ++k)
      product = sumWithProduct(product, v[k], numbers[k]);
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      slope[d] = sumWithProduct(slope[d], place.slope[d][corner], product);
  }
  Vec<D> result;
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d)
    result[d] = slope[d];
  return result;
}

/// (M - F) / 255 in each channel, in the place of M, and the sum of the squares.
template <int D>
TESSERA_HOST_DEVICE float takeDifference(DescriptorChannels<D>& moving, const DescriptorChannels<D>& fixed)
{
  constexpr float perNumber = 1.0f / 255;
  float squares = 0;
  TESSERA_UNROLL
  for (std::size_t k = 0; k < moving.size(); ++k) {
    moving[k] = (moving[k] - fixed[k]) * perNumber;
    squares = sumWithProduct(squares, moving[k], moving[k]);
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
