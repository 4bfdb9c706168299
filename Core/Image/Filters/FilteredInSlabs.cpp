#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Filters/FilteredImage.h"
#include "Core/Image/Voxels/VolumeOnCuda.h"

#include <algorithm>

namespace tessera {
namespace {

/// Filters a volume in host memory by pieces in device memory.
template <int D>
class VolumeInSlabs {
public:
  VolumeInSlabs(Context& context, const Image<D>& original, double deviceBytes)
      : context_(context), size_(original.geometry.size), from_(original.voxels.data()),
        deviceBytes_(deviceBytes)
  {
  }

  void apply(const FilterStep<D>& step)
  {
    if (!leavesAxis(size_[last], step.sigmaVoxels[last], step.taps[last]))
      filterLastAxis(step);
    filterOtherAxes(step);
  }

  std::vector<float> releaseVoxels() { return std::move(own_); }

private:
  static constexpr int last = D - 1;

  std::size_t columns() const { return productOf(std::span(size_).first(last)); }
  void become(std::vector<float>&& voxels)
  {
    own_ = std::move(voxels);
    from_ = own_.data();
  }
  /// The number of `all` pieces that fit on the device together. A third of the memory is left for rounding
  /// up.
  std::size_t atATime(std::size_t all, double bytesAPiece) const
  {
    return std::clamp<std::size_t>(static_cast<std::size_t>(deviceBytes_ / 1.5 / bytesAPiece), 1, all);
  }

  /// Filters the last axis by bundles of columns, of which each slice has one contiguous piece.
  void filterLastAxis(const FilterStep<D>& step)
  {
    const std::size_t all = columns(), length = size_[last];
    const AxisTaps& taps = step.taps[last];
    std::vector<float> result(all * taps.count);
    const std::size_t one[] = {1, length};
    MemoryCount ofColumn;
    filterAxisOnCuda(ofColumn.context(), one, 1, step.sigmaVoxels[last], taps, nullptr, nullptr);
    const double bytesAColumn =
        static_cast<double>((length + taps.count) * sizeof(float)) + takePeakDeviceMemory(ofColumn.context());
    const std::size_t maxCount = atATime(all, bytesAColumn);
    for (std::size_t first = 0; first < all; first += maxCount) {
      const std::size_t count = std::min(maxCount, all - first), bundle[] = {count, length};
      Buffer<float> in(context_, count * length), out(context_, count * taps.count);
      for (std::size_t slice = 0; slice < length; ++slice)
        context_.stream->copyToDevice(in.span().data() + slice * count, from_ + slice * all + first,
                                      count * sizeof(float));
      filterAxisOnCuda(context_, bundle, 1, step.sigmaVoxels[last], taps, in.span().data(),
                       out.span().data());
      for (std::size_t slice = 0; slice < taps.count; ++slice)
        context_.stream->copyToHost(result.data() + slice * all + first, out.span().data() + slice * count,
                                    count * sizeof(float));
    }
    size_[last] = taps.count;
    become(std::move(result));
  }

  /// Filters the other axes by slabs of slices.
  void filterOtherAxes(const FilterStep<D>& step)
  {
    Size<D> slice = size_;
    slice[last] = 1;
    std::size_t before = columns(), after = 1;
    MemoryCount ofSlice;
    VolumeOnCuda<D> counted(ofSlice.context(), slice,
                            std::make_shared<Buffer<float>>(ofSlice.context(), before));
    bool changes = from_ != own_.data();
    for (int axis = last - 1; axis >= 0; --axis) {
      changes = changes || !leavesAxis(size_[axis], step.sigmaVoxels[axis], step.taps[axis]);
      counted.filter(axis, step.sigmaVoxels[axis], step.taps[axis]);
      after *= step.taps[axis].count;
    }
    if (!changes)
      return;
    std::vector<float> result(after * size_[last]);
    const std::size_t maxCount = atATime(size_[last], takePeakDeviceMemory(ofSlice.context()));
    for (std::size_t first = 0; first < size_[last]; first += maxCount) {
      Size<D> slab = size_;
      slab[last] = std::min(maxCount, size_[last] - first);
      const auto voxels = std::make_shared<Buffer<float>>();
      voxels->fromHost(context_, {from_ + first * before, slab[last] * before});
      VolumeOnCuda<D> volume(context_, slab, voxels);
      for (int axis = last - 1; axis >= 0; --axis)
        volume.filter(axis, step.sigmaVoxels[axis], step.taps[axis]);
      const Buffer<float> filtered = volume.releaseVoxels();
      context_.stream->copyToHost(result.data() + first * after, filtered.span().data(),
                                  filtered.size() * sizeof(float));
    }
    for (int axis = 0; axis < last; ++axis)
      size_[axis] = step.taps[axis].count;
    become(std::move(result));
  }

  Context& context_;
  Size<D> size_;
  const float* from_;
  std::vector<float> own_;
  double deviceBytes_;
};

}

template <int D>
ImagePointer<D> filteredInSlabs(Context& context, const Image<D>& original,
                                const std::vector<FilterStep<D>>& steps, double deviceBytes)
{
  if (steps.empty())
    return std::make_shared<Image<D>>(original);
  VolumeInSlabs<D> volume(context, original, deviceBytes);
  for (const FilterStep<D>& step : steps)
    volume.apply(step);
  return std::make_shared<Image<D>>(Image<D>{steps.back().geometry, volume.releaseVoxels()});
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(filteredInSlabs<D>);

}
