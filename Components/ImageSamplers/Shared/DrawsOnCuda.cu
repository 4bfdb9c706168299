#include "Components/ImageSamplers/Shared/DrawsOnCuda.h"

#include "Core/Registration/Interpolation/InterpolatorOnCuda.cuh"

namespace tessera {
namespace {

constexpr unsigned threadsABlock =
    64; // draws are small: many blocks, so that many multiprocessors share them
constexpr unsigned triesBetweenLooks = 32;

/// Draws a voxel of a box.
template <int D>
struct BoxVoxel {
  Size<D> first, size, imageSize;
  const float* voxels;

  using Found = PlacedVoxel<D>;
  TESSERA_HOST_DEVICE Found find(const std::array<std::uint32_t, 4>& words) const
  {
    return voxelIn<D>(first, size, imageSize, words);
  }
  TESSERA_HOST_DEVICE float value(const Found& found, const Vec<D>&) const
  {
    return loadConstant(voxels + found.offset);
  }
};

/// Draws a voxel of a list; of the whole image if `offsets` is null.
template <int D>
struct ListedVoxel {
  const std::size_t* offsets;
  std::size_t count;
  Size<D> imageSize;
  const float* voxels;

  using Found = PlacedVoxel<D>;
  TESSERA_HOST_DEVICE Found find(const std::array<std::uint32_t, 4>& words) const
  {
    const std::size_t choice = choose(words[0], words[1], count);
    const std::size_t offset = offsets != nullptr ? offsets[choice] : choice;
    return {indexOfVoxel<D>(imageSize, offset), offset};
  }
  TESSERA_HOST_DEVICE float value(const Found& found, const Vec<D>&) const
  {
    return loadConstant(voxels + found.offset);
  }
};

/// Draws a point of a box, with the intensity that a spline has there.
template <int D, int Order>
struct BoxPoint {
  IndexBox<D> box;
  Size<D> imageSize;
  InterpolatorOnCuda<D> fixed;

  struct Found {
    Vec<D> index;
  };
  TESSERA_HOST_DEVICE Found find(const std::array<std::uint32_t, 4>& words) const
  {
    return {indexIn<D>(box, words)};
  }
  TESSERA_HOST_DEVICE float value(const Found& found, const Vec<D>& pointMm) const
  {
    if constexpr (Order == 0) {
      return nearestVoxel<D>(fixed.coefficients, imageSize, found.index);
    } else if constexpr (Order == 1) {
      return LinearLookUp<D>(fixed.coefficients, imageSize, found.index).value();
    } else {
      float value, unused[D];
      valueAt<D, Order>(fixed, pointMm, false, value, unused);
      return value;
    }
  }
};

template <int D>
struct SamplesOut {
  std::array<double*, D> mm;
  float* fixed;
  std::size_t count;
};

/// One thread a sample; it stores 8 D + 4 bytes and loads the intensity's support, and 1 byte of the mask for
/// each try. A thread tries until its sample lies in the mask, or until it notices that all threads together
/// have tried more than `limit` times; so not even an empty mask holds a thread for long. `tries` is null if
/// there is no mask.
template <int D, class Place>
__global__ void __launch_bounds__(threadsABlock)
    drawSamples(const Draw draw, const Place place, const AffineMap<D> pointFromIndex,
                const MaskOnCuda<D> mask, const SamplesOut<D> out, unsigned long long limit,
                unsigned long long* tries)
{
  const std::size_t sample = static_cast<std::size_t>(blockIdx.x) * threadsABlock + threadIdx.x;
  unsigned uncounted = 0;
  if (sample < out.count) {
    for (std::uint32_t attempt = 0;; ++attempt) {
      ++uncounted;
      const auto found = place.find(randomWords(draw, static_cast<std::uint32_t>(sample), attempt));
      const Vec<D> pointMm = pointFromIndex(found.index);
      if (mask.contains(pointMm)) {
        TESSERA_UNROLL
        for (int d = 0; d < D; ++d)
          out.mm[d][sample] = pointMm[d];
        out.fixed[sample] = place.value(found, pointMm);
        break;
      }
      if (uncounted == triesBetweenLooks) {
        uncounted = 0;
        if (atomicAdd(tries, triesBetweenLooks) + triesBetweenLooks > limit)
          break;
      }
    }
  }
  if (tries == nullptr)
    return;
  __syncwarp();
  for (int distance = 16; distance > 0; distance /= 2)
    uncounted += __shfl_down_sync(0xffffffffu, uncounted, distance);
  if (threadIdx.x % 32 == 0)
    atomicAdd(tries, uncounted);
}

}

template <int D>
template <class Place>
void DrawsOnCuda<D>::draw(Context& context, const Draw& draw, const Place& place)
{
  SamplesOut<D> out{{}, samples_->fixed.span().data(), samples_->fixed.size()};
  for (int d = 0; d < D; ++d)
    out.mm[d] = samples_->mm[d].span().data();
  const AttemptLimit attempts(out.count, sampler_);
  unsigned long long* const tries = tries_.size() > 0 ? tries_.span().data() : nullptr;
  const cudaStream_t stream = cudaStreamOf(context);
  if (tries != nullptr)
    context.stream->fill(tries, 0, sizeof(unsigned long long));
  drawSamples<D>
      <<<static_cast<unsigned>(ceilDiv<std::size_t>(out.count, threadsABlock)), threadsABlock, 0, stream>>>(
          draw, place, pointFromIndex_, mask_, out, attempts.limit(), tries);
  checkLaunch("DrawsOnCuda");
  if (tries != nullptr)
    attempts.check(tries_.toHost(context)[0]);
}

template <int D>
void DrawsOnCuda<D>::drawVoxels(Context& context, const Draw& draw, const VoxelBox<D>& box)
{
  this->draw(context, draw, BoxVoxel<D>{box.first, box.size, size_, fixedVoxels()});
}

template <int D>
void DrawsOnCuda<D>::drawVoxels(Context& context, const Draw& draw, std::span<const std::size_t> offsets)
{
  const bool all = offsets.empty();
  this->draw(context, draw,
             ListedVoxel<D>{all ? nullptr : offsets.data(), all ? fixed_->size() : offsets.size(), size_,
                            fixedVoxels()});
}

template <int D>
void DrawsOnCuda<D>::drawPoints(Context& context, const Draw& draw, const IndexBox<D>& box,
                                const InterpolatorOnCuda<D>& fixed)
{
  withOrder(fixed.order, [&]<int Order>() {
    this->draw(context, draw, BoxPoint<D, Order>{box, size_, fixed});
  });
}

TESSERA_INSTANTIATE_CLASS(DrawsOnCuda);

}
