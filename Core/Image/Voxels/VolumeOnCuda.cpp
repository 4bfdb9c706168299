#include "Core/Image/Voxels/VolumeOnCuda.h"

#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Filters/LineFilterOnCuda.h"
#include "Core/Image/Filters/RecursiveGaussian.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tessera {
namespace {

constexpr std::size_t surelyOneBlock = 512; // lines up to this length need no temporary memory on any device
constexpr std::size_t bytesOfStates = 2 * 32; // for so many values of longer lines; doubled for a last piece

std::size_t countOf(std::span<const std::size_t> size)
{
  return std::accumulate(size.begin(), size.end(), std::size_t{1}, std::multiplies<>());
}

bool onlySmooths(std::size_t length, const AxisTaps& taps)
{
  return taps.isIdentity() && taps.count == length;
}

bool fitKeptPlaces(const AxisTaps& taps)
{
  return taps.weights.size() <= 2 && taps.first >= 0;
}

KeptPlaces keptPlaces(const AxisTaps& taps)
{
  KeptPlaces kept{taps.count, taps.step, static_cast<std::size_t>(taps.first), {}};
  std::copy(taps.weights.begin(), taps.weights.end(), kept.weights.begin());
  return kept;
}

/// Takes the most that filterAxisOnCuda may take on the way, and gives it back.
void countTemporaryMemory(const Context& context, std::span<const std::size_t> size, int axis,
                          double sigmaVoxels, const AxisTaps& taps)
{
  if (sigmaVoxels <= 0)
    return;
  const std::size_t count = countOf(size), length = size[axis];
  const bool isLong = length > surelyOneBlock,
             whole = !onlySmooths(length, taps) && (isLong || !fitKeptPlaces(taps));
  const Buffer<float> smooth(context, whole ? count : 0);
  const Buffer<std::byte> states(context, isLong ? bytesOfStates * count / surelyOneBlock : 0);
}

template <int D>
Size<D> withLength(Size<D> size, int axis, std::size_t length)
{
  size[axis] = length;
  return size;
}

}

bool leavesAxis(std::size_t length, double sigmaVoxels, const AxisTaps& taps)
{
  return sigmaVoxels <= 0 && onlySmooths(length, taps);
}

void filterAxisOnCuda(Context& context, std::span<const std::size_t> size, int axis, double sigmaVoxels,
                      const AxisTaps& taps, const float* in, float* out)
{
  if (onlyCountsMemory(context))
    return countTemporaryMemory(context, size, axis, sigmaVoxels, taps);
  const LinesOnCuda lines = LinesOnCuda::along(size, axis);
  if (sigmaVoxels <= 0)
    return tapLinesOnCuda(context, lines, taps, in, out);
  const ExponentialFilter filter = gaussianFilter(sigmaVoxels);
  if (onlySmooths(lines.length, taps))
    return filterLinesOnCuda(context, filter, LineEnds::constant, lines, in, out);
  if (fitKeptPlaces(taps))
    return filterLinesOnCuda(context, filter, LineEnds::constant, lines, keptPlaces(taps), in, out);
  Buffer<float> smooth(context, countOf(size));
  filterLinesOnCuda(context, filter, LineEnds::constant, lines, in, smooth.span().data());
  tapLinesOnCuda(context, lines, taps, smooth.span().data(), out);
}

template <int D>
void VolumeOnCuda<D>::filter(int axis, double sigmaVoxels, const AxisTaps& taps)
{
  if (leavesAxis(size_[axis], sigmaVoxels, taps))
    return;
  const Size<D> after = withLength<D>(size_, axis, taps.count);
  const float* const in = original_ ? original_->span().data() : own_.span().data();
  if (!original_ && onlySmooths(size_[axis], taps)) {
    filterAxisOnCuda(context_, size_, axis, sigmaVoxels, taps, in, own_.span().data());
  } else {
    Buffer<float> next(context_, countOf(after));
    filterAxisOnCuda(context_, size_, axis, sigmaVoxels, taps, in, next.span().data());
    own_ = Buffer<float>();
    own_ = std::move(next);
    original_.reset();
  }
  size_ = after;
}

template <int D>
Buffer<float> VolumeOnCuda<D>::releaseVoxels()
{
  if (original_) {
    own_ = Buffer<float>(context_, countOf(size_));
    context_.stream->copyOnDevice(own_.span().data(), original_->span().data(),
                                  countOf(size_) * sizeof(float));
    original_.reset();
  }
  return std::move(own_);
}

TESSERA_INSTANTIATE_CLASS_TO_4(VolumeOnCuda);

}
