#include "Core/Image/Slices/SliceWindowOnCuda.h"

#include "Core/Compute/HostCopies.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace tessera {

template <int D>
SliceWindowOnCuda<D>::SliceWindowOnCuda(const ImageGeometry<D>& geometry, std::size_t mostSlices,
                                        Source source)
    : geometry_(geometry), ofSlice_(geometry.voxelCount() / geometry.size[D - 1]),
      most_(std::min(mostSlices, geometry.size[D - 1])), source_(std::move(source))
{
}

template <int D>
SliceWindowOnCuda<D>::SliceWindowOnCuda(const ImagePointer<D>& image, std::size_t mostSlices)
    : SliceWindowOnCuda(image->geometry, mostSlices,
                        [image, ofSlice = image->voxels.size() / image->geometry.size[D - 1]](
                            const Context& context, std::size_t first, std::size_t count, float* voxels) {
                          copyLargeToDevice(context, voxels, image->voxels.data() + first * ofSlice,
                                            count * ofSlice * sizeof(float));
                        })
{
}

/// Moves the slices that stay to where they lie in a window from `newFirst` on, in steps that do not run into
/// themselves.
template <int D>
void SliceWindowOnCuda<D>::keep(const Context& context, std::size_t newFirst)
{
  float* const voxels = voxels_.span().data();
  const auto move = [&](std::size_t to, std::size_t from, std::size_t slices) {
    context.stream->copyOnDevice(voxels + to * ofSlice_, voxels + from * ofSlice_,
                                 slices * ofSlice_ * sizeof(float));
  };
  if (newFirst > first_) {
    const std::size_t by = newFirst - first_, kept = count_ - by;
    for (std::size_t done = 0; done < kept; done += by)
      move(done, done + by, std::min(by, kept - done));
  } else if (newFirst < first_) {
    const std::size_t by = first_ - newFirst, kept = most_ - by;
    for (std::size_t left = kept; left > 0; left -= std::min(by, left)) {
      const std::size_t slices = std::min(by, left);
      move(left - slices + by, left - slices, slices);
    }
  }
}

template <int D>
const float* SliceWindowOnCuda<D>::bring(const Context& context, std::size_t first, std::size_t count)
{
  if (count > most_)
    throw std::logic_error("SliceWindowOnCuda: " + std::to_string(count) + " slices in room for "
                           + std::to_string(most_));
  float* const voxels = grown(context, voxels_, most_ * ofSlice_);
  const std::size_t end = first + count, all = geometry_.size[D - 1];
  if (first < first_ || end > first_ + count_) {
    // what is there lies behind, or this is the first: the next ones may ask for what follows; else for what
    // lies before
    const bool upwards = first >= first_;
    const std::size_t newFirst = upwards ? std::min(first, all - most_) : end - std::min(end, most_),
                      newEnd = newFirst + most_;
    const std::size_t keptFirst = std::clamp(first_, newFirst, newEnd),
                      keptEnd = std::clamp(first_ + count_, keptFirst, newEnd);
    if (keptEnd > keptFirst)
      keep(context, newFirst);
    count_ = 0; // until all is there
    const auto fill = [&](std::size_t from, std::size_t to) {
      if (to > from)
        source_(context, from, to - from, voxels + (from - newFirst) * ofSlice_);
    };
    fill(newFirst, keptFirst);
    fill(keptEnd, newEnd);
    first_ = newFirst;
    count_ = most_;
  }
  return reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(voxels)
                                        - first_ * ofSlice_ * sizeof(float));
}

template class SliceWindowOnCuda<2>;
template class SliceWindowOnCuda<3>;

}
