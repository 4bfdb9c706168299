#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Filters/DiscreteGaussian.h"

#include <memory>

namespace tessera {

/// Filters one axis of an array on the device: a recursive Gaussian (sigma in voxels; 0: none), then taps.
/// One pass if there are at most two taps, none of them before the line. `out` has taps.count elements along
/// the axis. It may be `in` if the taps change nothing. On the context of a MemoryCount it counts the most
/// that it may take on any device.
void filterAxisOnCuda(Context&, std::span<const std::size_t> size, int axis, double sigmaVoxels,
                      const AxisTaps& taps, const float* in, float* out);

/// Whether Gaussian and taps change nothing along an axis of this length.
bool leavesAxis(std::size_t length, double sigmaVoxels, const AxisTaps& taps);
/// A volume in device memory, filtered axis by axis.
template <int D>
class VolumeOnCuda {
public:
  VolumeOnCuda(Context& context, const Size<D>& size, std::shared_ptr<const Buffer<float>> voxels)
      : context_(context), size_(size), original_(std::move(voxels))
  {
  }

  void filter(int axis, double sigmaVoxels, const AxisTaps& taps);
  const Size<D>& size() const { return size_; }
  Buffer<float> releaseVoxels();

private:
  Context& context_;
  Size<D> size_;
  std::shared_ptr<const Buffer<float>> original_; // null after the first filter()
  Buffer<float> own_;
};

}
