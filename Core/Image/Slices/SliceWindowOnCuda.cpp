#include "Core/Image/Slices/SliceWindowOnCuda.h"

#include "Core/Compute/Memory/HostCopies.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace tessera {

template <int D>
SliceWindowOnCuda<D>::SliceWindowOnCuda(const ImageGeometry<D>& geometry, std::size_t maxSlices,
                                        Source source)
    : geometry_(geometry), sliceVoxels_(geometry.voxelCount() / geometry.size[D - 1]),
      maxSlices_(std::min(maxSlices, geometry.size[D - 1])), source_(std::move(source))
{
}

template <int D>
SliceWindowOnCuda<D>::SliceWindowOnCuda(const ImagePointer<D>& image, std::size_t maxSlices)
    : SliceWindowOnCuda(image->geometry, maxSlices,
                        [image, voxelsOfSlice = image->voxels.size() / image->geometry.size[D - 1]](
                            const Context& context, std::size_t first, std::size_t count, float* voxels) {
                          copyLargeToDevice(context, voxels, image->voxels.data() + first * voxelsOfSlice,
                                            count * voxelsOfSlice * sizeof(float));
                        })
{
}

/// Moves the slices that stay to their places in a window that begins with `newFirst`. The steps are so short
/// that source and target do not overlap.
template <int D>
void SliceWindowOnCuda<D>::keep(const Context& context, std::size_t newFirst)
{
  float* const voxels = voxels_.span().data();
  const auto move = [&](std::size_t to, std::size_t from, std::size_t slices) {
    context.stream->copyOnDevice(voxels + to * sliceVoxels_, voxels + from * sliceVoxels_,
                                 slices * sliceVoxels_ * sizeof(float));
  };
  if (newFirst > first_) {
    const std::size_t by = newFirst - first_, kept = count_ - by;
    for (std::size_t done = 0; done < kept; done += by)
      move(done, done + by, std::min(by, kept - done));
  } else if (newFirst < first_) {
    const std::size_t by = first_ - newFirst, kept = maxSlices_ - by;
    for (std::size_t left = kept; left > 0; left -= std::min(by, left)) {
      const std::size_t slices = std::min(by, left);
      move(left - slices + by, left - slices, slices);
    }
  }
}

template <int D>
const float* SliceWindowOnCuda<D>::moveTo(const Context& context, std::size_t first, std::size_t count)
{
  if (count > maxSlices_)
    throw std::logic_error("SliceWindowOnCuda: " + std::to_string(count) + " slices in room for "
                           + std::to_string(maxSlices_));
  float* const voxels = grown(context, voxels_, maxSlices_ * sliceVoxels_);
  const std::size_t end = first + count, all = geometry_.size[D - 1];
  if (first < first_ || end > first_ + count_) {
    // The window moves on in the direction of this call.
    const bool upwards = first >= first_;
    const std::size_t newFirst =
                          upwards ? std::min(first, all - maxSlices_) : end - std::min(end, maxSlices_),
                      newEnd = newFirst + maxSlices_;
    const std::size_t keptFirst = std::clamp(first_, newFirst, newEnd),
                      keptEnd = std::clamp(first_ + count_, keptFirst, newEnd);
    if (keptEnd > keptFirst)
      keep(context, newFirst);
    count_ = 0; // in case copying throws
    const auto fill = [&](std::size_t from, std::size_t to) {
      if (to > from)
        source_(context, from, to - from, voxels + (from - newFirst) * sliceVoxels_);
    };
    fill(newFirst, keptFirst);
    fill(keptEnd, newEnd);
    first_ = newFirst;
    count_ = maxSlices_;
  }
  return reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(voxels)
                                        - first_ * sliceVoxels_ * sizeof(float));
}

TESSERA_INSTANTIATE_CLASS_TO_4(SliceWindowOnCuda);

}
