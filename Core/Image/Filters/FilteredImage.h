#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Image/Filters/DiscreteGaussian.h"
#include "Core/Image/Filters/RecursiveGaussian.h"

#include <memory>
#include <vector>

namespace tessera {

/// One step from an image to a smoother or smaller one, axis by axis: a recursive Gaussian, then taps.
template <int D>
struct FilterStep {
  Vec<D> sigmaVoxels{};                   // 0: no smoothing along the axis
  AxisOrder order = AxisOrder::ascending; // of smoothing, on the CPU
  std::array<AxisTaps, D> taps;           // count: the step's size along the axis
  ImageGeometry<D> geometry;              // after the step

  /// Smooths only.
  static FilterStep smoothing(const ImageGeometry<D>& geometry, const Vec<D>& sigmaVoxels, AxisOrder order);
};

/// What keeps voxels on a CUDA device; see voxelsOnCuda.
using HeldOnCuda = std::vector<std::shared_ptr<const Buffer<float>>>;

/// The image after all steps, computed on the context's device. On CUDA the first axis to be filtered is the
/// last one; the image is in host memory too, and voxelsOnCuda finds it on the device as long as `held` or
/// anyone else holds it there. What does not fit into free device memory is computed in slabs, with the same
/// bits; else `originals` holds the original there, too, for those who filter it again.
template <int D>
ImagePointer<D> filteredImage(Context&, const ImagePointer<D>& original,
                              const std::vector<FilterStep<D>>& steps, HeldOnCuda* held = nullptr,
                              HeldOnCuda* originals = nullptr);

/// The most device memory that steps take from an image of this size if it is not cut into slabs, its own and
/// the result's included; `keepsOriginal`: all the while.
template <int D>
double filteredImageDeviceBytes(const Size<D>& size, const std::vector<FilterStep<D>>& steps,
                                bool keepsOriginal = false);

/// On CUDA, with at most so many bytes of device memory at a time, in slabs.
template <int D>
ImagePointer<D> filteredInSlabs(Context&, const Image<D>& original, const std::vector<FilterStep<D>>& steps,
                                double deviceBytes);

}
