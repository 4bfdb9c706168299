#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Image/Voxels/PixelType.h"
#include "Core/Image/Voxels/ValueScaling.h"
#include "Core/Image/Voxels/VoxelValues.h"

#include <cstdint>

namespace tessera {

/// The order of the values of some voxels in the type of a file.
struct StoredLayout {
  PixelType type = PixelType::float32;
  std::size_t components = 1, ofComponent = 1,
              ofVoxel = 1;  // the last two: steps in values from a component, or voxel, to the next
  bool isLuminance = false; // colours become one image; otherwise each component is an image
  bool ofLabels = false;
  ValueScaling scaling; // none for luminance
};

/// Values in the type and order of a file, on the host or on a device.
template <class T>
struct StoredVoxels {
  const T* values;
  StoredLayout layout;

  /// The float of a voxel in the image of a component, or its luminance. It may not be finite.
  TESSERA_HOST_DEVICE float intensity(std::size_t image, std::size_t voxel) const
  {
    const T* const in = values + voxel * layout.ofVoxel;
    if (layout.isLuminance)
      return luminance(in, layout.components, layout.ofComponent);
    const T number = in[image * layout.ofComponent];
    return static_cast<float>(layout.scaling.isScaled() ? layout.scaling(number) : number);
  }

  /// Whether a voxel is finite in all images. A label may be finite although float cannot hold it.
  TESSERA_HOST_DEVICE bool isFinite(std::size_t voxel) const
  {
    if (layout.ofLabels)
      return std::isfinite(label(voxel));
    bool all = true;
    for (std::size_t image = 0; image < (layout.isLuminance ? 1 : layout.components); ++image)
      all = all && std::isfinite(intensity(image, voxel));
    return all;
  }

  /// Whether converting a voxel to float changes its number, where users get a note about it: whole numbers
  /// of one component, and all labels. A label that is no whole number counts, too.
  TESSERA_HOST_DEVICE bool isInexact(std::size_t voxel) const
  {
    if (layout.scaling.isScaled())
      return layout.ofLabels && !isExactLabel(label(voxel));
    const T value = values[voxel * layout.ofVoxel];
    return layout.ofLabels ? !isExactLabel(value)
                           : layout.components == 1 && std::is_integral_v<T> && !isExactInFloat(value);
  }

private:
  TESSERA_HOST_DEVICE double label(std::size_t voxel) const
  {
    const T number = values[voxel * layout.ofVoxel];
    return layout.scaling.isScaled() ? static_cast<double>(layout.scaling(number))
                                     : static_cast<double>(number);
  }
};

/// Numbers of voxels that are not finite, and of those that floats cannot hold.
struct VoxelCounts {
  unsigned long long nonFinite = 0, inexact = 0;
};

/// Enqueues the conversion to floats on the context's CUDA device, with the bits of the host. Unless null,
/// `voxels` gets one image, with 0 for values that are not finite; `finite` gets 1 where all images are
/// finite, else 0; and `counts` is increased. With `others`, a voxel is finite only if `finite` already says
/// so for other components.
TESSERA_CUDA_ONLY void storedToFloatsOnCuda(const Context&, const std::byte* stored, const StoredLayout&,
                                            std::size_t image, std::size_t count, float* voxels,
                                            std::uint8_t* finite, VoxelCounts* counts, bool others = false);

}
