#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Image.h"

#include <functional>

namespace tessera {

/// A window of slices of an image on a CUDA device, which moves from one end of the image to the other.
/// Slices that are still in the window are not copied again.
template <int D>
class SliceWindowOnCuda {
public:
  /// Enqueues copies of slices [first, first + count) to `voxels` on the device in the context's stream.
  using Source = std::function<void(const Context&, std::size_t first, std::size_t count, float* voxels)>;

  /// A window of at most `maxSlices` slices, at least one. The first moveTo() allocates the device memory.
  SliceWindowOnCuda(const ImageGeometry<D>& geometry, std::size_t maxSlices, Source source);
  /// The same for an image in host memory.
  SliceWindowOnCuda(const ImagePointer<D>& image, std::size_t maxSlices);

  const ImageGeometry<D>& geometry() const { return geometry_; }
  std::size_t maxSlices() const { return maxSlices_; }

  /// Makes these slices available, and those that will be needed next as far as they fit into the window.
  /// Returns the address that the first voxel of the whole image would have. Until the next call, kernels may
  /// read only the slices asked for.
  const float* moveTo(const Context&, std::size_t first, std::size_t count);

private:
  void keep(const Context&, std::size_t newFirst);

  ImageGeometry<D> geometry_;
  std::size_t sliceVoxels_, maxSlices_;
  Source source_;
  std::size_t first_ = 0, count_ = 0; // slices in the window
  Buffer<float> voxels_;
};

}
