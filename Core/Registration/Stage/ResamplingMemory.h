#pragma once

#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Registration/Resampler.h"

#include <span>

namespace tessera {

/// By so many bytes a device may round up all arrays of a resampling together.
constexpr double roundingOfResampling = 1 << 16;

/// An image that is to be resampled on a CUDA device, known by its size alone.
template <int D>
struct ImageToResample {
  /// One for each component. They are prepared for an image without voxels, and end as endLevel() leaves
  /// them.
  std::span<Interpolator<D>* const> interpolators;
  ImageGeometry<D> grid;
  bool hasInvalidVoxels = false;
  bool voxelsComeFirst = false; // whether the device has the voxels of all components before any is prepared
  PixelType type = PixelType::float32; // of the result
};

/// The most memory that the device holds while the interpolators are prepared and the image is resampled onto
/// the grid `output`: both are done on a device whose memory is only counted.
template <int D>
DeviceMemory memoryOfResampling(const Resampler<D>&, const TransformChain<D>&, const ImageToResample<D>&,
                                const ImageGeometry<D>& output);

}
