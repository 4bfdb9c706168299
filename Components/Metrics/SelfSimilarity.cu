#include "Components/Metrics/Shared/Descriptors/SelfSimilarityOnCuda.h"

#include "Components/Metrics/Shared/Descriptors/DescriptorCell.h"
#include "Components/Metrics/Shared/SumsOnCuda.cuh"
#include "Core/Image/Filters/SelfSimilarityDescriptor.h"
#include "Core/Registration/Samples/SampleKernels.cuh"

namespace tessera {
namespace {

constexpr int similarityThreads = 128;

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

/// ComparisonOnCuda::compare, one sample x for each thread. Through the caches it reads the descriptors
/// around T(x), 4 in 2D and 8 in 3D, and one of the fixed image (as many for a list of points). It writes 4
/// bytes, and 4 D for gradients.
template <int D, bool WithGradient>
__global__ void __launch_bounds__(similarityThreads)
    compareDescriptors(const __grid_constant__ SamplesOnCuda<D> samples,
                       const __grid_constant__ AffineMap<D> before,
                       const std::array<const float*, D> displacements,
                       const __grid_constant__ MaskOnCuda<D> movingMask,
                       const __grid_constant__ DescriptorOnCuda<D> fixed,
                       const __grid_constant__ DescriptorOnCuda<D> moving,
                       const __grid_constant__ GatherTarget<D> target)
{
  const std::size_t i = blockIdx.x * static_cast<std::size_t>(similarityThreads) + threadIdx.x;
  const SampleOnCuda<D> sample = sampleOrNone(samples, i);
  float number = NAN, gradient[D] = {};
  if (sample.asked) {
    const Vec<D> mappedMm = mappedMmOf<D>(sample, before, displacements, i);
    DescriptorCell<D> cell;
    bool counts = movingMask.contains(mappedMm);
    DescriptorChannels<D> ofFixed;
    if (samples.isList()) {
      counts = cell.setTo(fixed.size, fixed.indexFromPoint(sample.pointMm)) && counts;
      if (counts)
        ofFixed = interpolated<D>(fixed.values, DescriptorPlace<D>(cell));
    } else
      ofFixed = numbersOf<D>(fixed.values, sample.voxel);
    counts = cell.setTo(moving.size, moving.indexFromPoint(mappedMm)) && counts;
    if (counts) {
      const DescriptorPlace<D> place(cell);
      DescriptorChannels<D> difference = interpolated<D>(moving.values, place);
      number = takeDifference<D>(difference, ofFixed) / SelfSimilarityDescriptor<D>::channels;
      if constexpr (WithGradient) {
        const Vec<D> byIndex = slopeOf<D>(moving.values, place, difference);
#pragma unroll
        for (int d = 0; d < D; ++d) {
          double sum = 0;
#pragma unroll
          for (int e = 0; e < D; ++e)
            sum += factorOfSlope<D>() * byIndex[e] * moving.indexFromPoint.matrix[e][d];
          gradient[d] = static_cast<float>(sum);
        }
      }
    }
  }
  if (i < samples.count) {
    target.moving[i] = number;
    if constexpr (WithGradient) {
#pragma unroll
      for (int d = 0; d < D; ++d)
        target.gradientPerMm[d][i] = gradient[d];
    }
  }
  addAsked(sample.asked, target.asked);
}

}

template <int D>
void SelfSimilarityOnCuda<D>::compare(Context& context, const SamplesOnCuda<D>& samples,
                                      const AffineMap<D>& before,
                                      const std::array<const float*, D>& displacements,
                                      const MaskOnCuda<D>& movingMask, const GatherTarget<D>& target) const
{
  if (samples.count == 0)
    return;
  const auto kernel =
      target.gradientPerMm[0] != nullptr ? compareDescriptors<D, true> : compareDescriptors<D, false>;
  kernel<<<static_cast<unsigned>(ceilDiv<std::size_t>(samples.count, similarityThreads)), similarityThreads,
           0, cudaStreamOf(context)>>>(samples, before, displacements, movingMask, fixed_, moving_, target);
  checkLaunch("comparison of self-similarities");
}

template class SelfSimilarityOnCuda<2>;
template class SelfSimilarityOnCuda<3>;
template class SumsOnCuda<MeanOfSecond>;

}
