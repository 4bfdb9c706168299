#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Filters/DiscreteGaussian.h"
#include "Core/Image/Filters/RecursiveGaussian.h"

#include <memory>
#include <vector>

namespace tessera {

/// One step from an image to a smoother or smaller one: along each axis a recursive Gaussian, then taps.
template <int D>
struct FilterStep {
  Vec<D> sigmaVoxels{};                   // 0: no smoothing along the axis
  AxisOrder order = AxisOrder::ascending; // order of smoothing on the CPU
  std::array<AxisTaps, D> taps;           // count: the size after the step along the axis
  ImageGeometry<D> geometry;              // after the step

  /// A step that only smooths.
  static FilterStep smoothing(const ImageGeometry<D>& geometry, const Vec<D>& sigmaVoxels, AxisOrder order);

  bool operator==(const FilterStep&) const = default;
};

/// Keeps voxels on a CUDA device, see voxelsOnCuda.
using HeldOnCuda = std::vector<std::shared_ptr<const Buffer<float>>>;

/// The image after all steps, computed on the context's device. On CUDA, filtering begins with the last axis.
/// The result is also in host memory, and voxelsOnCuda finds it on the device as long as `held` or anyone
/// else holds it; that of an image on the device alone is there alone, if there is plenty of memory. If it
/// does not fit into the free device memory it is computed in slabs, with the same bits; otherwise
/// `originals` keeps the original on the device, so that it can be filtered again without another copy. On
/// the context of a MemoryCount neither the original nor the result has voxels.
template <int D>
ImagePointer<D> filteredImage(Context&, const ImagePointer<D>& original,
                              const std::vector<FilterStep<D>>& steps, HeldOnCuda* held = nullptr,
                              HeldOnCuda* originals = nullptr);

/// The largest number of bytes of device memory for the steps on an image of this size without slabs,
/// including those of the image and of the result. `keepsOriginal`: the original stays on the device all the
/// time.
template <int D>
double filteredImageDeviceBytes(const Size<D>& size, const std::vector<FilterStep<D>>& steps,
                                bool keepsOriginal = false);

/// filteredImage on CUDA in slabs, with at most `deviceBytes` of device memory at a time.
template <int D>
ImagePointer<D> filteredInSlabs(Context&, const Image<D>& original, const std::vector<FilterStep<D>>& steps,
                                double deviceBytes);

/// How far the result of filter steps lies beside the content of the original, in mm along each axis of the
/// image: 0 where every voxel stands at the mean place of the voxels that it is made of.
template <int D>
Vec<D> contentShiftMm(const ImageGeometry<D>& original, const std::vector<FilterStep<D>>& steps);

}
