#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/CudaOnly.h"
#include "Core/Image/Voxels/PixelType.h"
#include "Core/Image/Voxels/ValueScaling.h"
#include "Core/Image/Voxels/VoxelValues.h"

#include <cstdint>

namespace tessera {

/// How the values of some voxels lie, as a file holds them.
struct StoredLayout {
  PixelType type = PixelType::float32;
  std::size_t components = 1, ofComponent = 1, ofVoxel = 1; // the last two: steps, in values
  bool isLuminance = false; // colour that becomes one image; else each component is one
  bool ofLabels = false;
  ValueScaling scaling; // not of luminance
};

/// Such values, on the host or on a device.
template <class T>
struct StoredVoxels {
  const T* values;
  StoredLayout layout;

  /// What a voxel is in the image of a component, or of luminance; it may be no number.
  TESSERA_HOST_DEVICE float intensity(std::size_t image, std::size_t voxel) const
  {
    const T* const in = values + voxel * layout.ofVoxel;
    if (layout.isLuminance)
      return luminance(in, layout.components, layout.ofComponent);
    const T number = in[image * layout.ofComponent];
    return static_cast<float>(layout.scaling.isScaled() ? layout.scaling(number) : number);
  }

  /// In all images; a label that float does not hold may be finite though its float is not.
  TESSERA_HOST_DEVICE bool isFinite(std::size_t voxel) const
  {
    if (layout.ofLabels)
      return std::isfinite(label(voxel));
    bool all = true;
    for (std::size_t image = 0; image < (layout.isLuminance ? 1 : layout.components); ++image)
      all = all && std::isfinite(intensity(image, voxel));
    return all;
  }

  /// Whether it becomes another number on its way to float, and users are told: whole numbers of one
  /// component, and any labels.
  TESSERA_HOST_DEVICE bool isInexact(std::size_t voxel) const
  {
    if constexpr (sizeof(T) < sizeof(float) || std::is_same_v<T, float>)
      return false;
    if (layout.scaling.isScaled())
      return layout.ofLabels && !isExactInFloat(label(voxel));
    return layout.components == 1 && (std::is_integral_v<T> || layout.ofLabels)
           && !isExactInFloat(values[voxel * layout.ofVoxel]);
  }

private:
  TESSERA_HOST_DEVICE double label(std::size_t voxel) const
  {
    const T number = values[voxel * layout.ofVoxel];
    return layout.scaling.isScaled() ? static_cast<double>(layout.scaling(number))
                                     : static_cast<double>(number);
  }
};

/// What there is of such voxels.
struct VoxelCounts {
  unsigned long long nonFinite = 0, inexact = 0;
};

/// Values on the context's CUDA device to floats there, with the bits that they have on the host; only gives
/// work to its stream. `voxels`, of the image of a component or luminance, gets 0 for what is not finite;
/// `finite`, of all images, 1 or 0; `counts` grows by what there is. Each of the three may be null. `others`:
/// a voxel is finite only if `finite` says so of other components.
TESSERA_CUDA_ONLY void storedToFloatsOnCuda(const Context&, const std::byte* stored, const StoredLayout&,
                                            std::size_t image, std::size_t count, float* voxels,
                                            std::uint8_t* finite, VoxelCounts* counts, bool others = false);

}
