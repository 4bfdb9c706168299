#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Image/Filters/DiscreteGaussian.h"
#include "Core/Image/Image.h"

#include <memory>

namespace tessera {

/// One axis of an array on the device: recursive Gaussian (sigma in voxels; 0: none), then taps; one pass
/// where these are at most two, none of them before the line. `out` has taps.count elements along the axis;
/// it may be `in` if that is as before and taps do nothing.
void filterAxisOnCuda(Context&, std::span<const std::size_t> size, int axis, double sigmaVoxels,
                      const AxisTaps& taps, const float* in, float* out);

/// Whether the two change nothing of an axis of this length.
bool leavesAxis(std::size_t length, double sigmaVoxels, const AxisTaps& taps);
/// Bytes of device memory that filterAxisOnCuda takes and gives back, at most.
double filterAxisDeviceBytes(std::span<const std::size_t> size, int axis, double sigmaVoxels,
                             const AxisTaps& taps);

/// A volume in device memory that is filtered axis by axis.
template <int D>
class VolumeOnCuda {
public:
  VolumeOnCuda(Context&, const Size<D>& size, std::shared_ptr<const Buffer<float>> voxels);

  void filter(int axis, double sigmaVoxels, const AxisTaps& taps);
  const Size<D>& size() const { return size_; }
  Buffer<float> takeVoxels();

  /// The most memory that the same calls of filter take.
  class Demand {
  public:
    /// `keepsOriginal`: someone else holds it all the while.
    explicit Demand(const Size<D>& size, bool keepsOriginal = false);
    void filter(int axis, double sigmaVoxels, const AxisTaps& taps);
    double mostBytes() const { return most_; }

  private:
    Size<D> size_;
    bool owns_ = false;
    double keptBytes_, most_;
  };

private:
  Context& context_;
  Size<D> size_;
  std::shared_ptr<const Buffer<float>> original_; // until the first filter
  Buffer<float> own_;
};

}
