#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Image/Image.h"

#include <functional>

namespace tessera {

/// The slices of an image, of the last axis, that a CUDA device has while the image is gone through from one
/// end to the other: those that are asked for again are not brought again.
template <int D>
class SliceWindowOnCuda {
public:
  /// Gives slices [first, first + count) to `voxels` on the device; the context's stream has them afterwards.
  using Source = std::function<void(const Context&, std::size_t first, std::size_t count, float* voxels)>;

  /// `mostSlices` (at least one) at a time; takes the device's memory for them when it is first asked.
  SliceWindowOnCuda(const ImageGeometry<D>& geometry, std::size_t mostSlices, Source source);
  /// Of an image in the host's memory.
  SliceWindowOnCuda(const ImagePointer<D>& image, std::size_t mostSlices);

  const ImageGeometry<D>& geometry() const { return geometry_; }
  std::size_t mostSlices() const { return most_; }

  /// Has these slices there, and as many of those that will be asked for next as there is room for. Returns
  /// where the first voxel of the whole image would lie; kernels may read none but those slices, before the
  /// next call.
  const float* bring(const Context&, std::size_t first, std::size_t count);

private:
  void keep(const Context&, std::size_t newFirst);

  ImageGeometry<D> geometry_;
  std::size_t ofSlice_, most_;
  Source source_;
  std::size_t first_ = 0, count_ = 0; // what is there
  Buffer<float> voxels_;
};

}
