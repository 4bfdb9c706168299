#pragma once

#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Math/SmallMatrix.h"

#include <array>
#include <cmath>
#include <cstddef>

namespace tessera {

/// The voxels between which a place lies, for linear interpolation of a SelfSimilarityDescriptor on the CPU
/// and on CUDA. Nearer than half a voxel beyond the image a place has the border's values.
template <int D>
struct DescriptorCell {
  /// A place so little (in voxels) before a voxel is at that voxel, so that rounding does not decide which
  /// slope it has where both images have one grid.
  static constexpr double nearVoxel = 0x1p-18;
  std::size_t first;               // the voxel before the place along each axis
  std::array<std::size_t, D> step; // from there to the next voxel; 0 where the border's values stay the same
  std::array<float, D> share;      // how far the place is on the way to the next voxel, 0 to 1

  /// False: the place lies half a voxel or more beyond the image.
  template <class Sizes>
  TESSERA_HOST_DEVICE TESSERA_ALWAYS_INLINE bool setTo(const Sizes& size, const Vec<D>& index)
  {
    first = 0;
    bool inside = true;
    std::size_t stride = 1;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      const double last = static_cast<double>(size[d]) - 1;
      inside = inside && index[d] >= -0.5 && index[d] < last + 0.5;
      const double within = !(index[d] > 0)   ? 0
                            : index[d] < last ? index[d]
                                              : last,
                   from = std::floor(within + nearVoxel), below = from < last ? from : last;
      share[d] = static_cast<float>(within - below);
      first += stride * static_cast<std::size_t>(below);
      step[d] = below < last && index[d] > -nearVoxel ? stride : 0;
      stride *= static_cast<std::size_t>(size[d]);
    }
    return inside;
  }
};

}
