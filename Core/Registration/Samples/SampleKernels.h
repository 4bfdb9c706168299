#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/CudaOnly.h"
#include "Core/Compute/LoadConstant.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.h"

#include <array>
#include <cstddef>

// Kernels over the samples of a cost term. All arrays lie on the context's CUDA device.
namespace tessera {

/// Samples: a list of points, or positions of a lattice of which a mask may leave some out.
template <int D>
struct SamplesOnCuda {
  std::size_t count = 0;
  const float* fixed = nullptr;           // fixed intensities; null if gathering has to write them
  std::array<const double*, D> pointMm{}; // of a list; null: a lattice

  AffineMap<D> pointFromIndex;
  std::array<int, D> first{}, step{}, positions{}; // voxels of the image at regular steps
  std::array<int, D> imageSize{};
  const float* image = nullptr;
  const std::uint8_t* asked = nullptr; // by position, whether the mask lets it through; null: no mask

  TESSERA_HOST_DEVICE bool isList() const { return pointMm[0] != nullptr; }
  TESSERA_HOST_DEVICE bool isAsked(std::size_t i) const
  {
    return asked == nullptr || loadConstant(asked + i) != 0;
  }
};

/// asked[i] of each position of a lattice: whether the mask contains its point. Writes a byte a position.
template <int D>
TESSERA_CUDA_ONLY void maskLatticeOnCuda(const Context&, const SamplesOnCuda<D>&, const MaskOnCuda<D>&,
                                         std::uint8_t* asked);

/// Per sample. A sample that does not count has the moving intensity NaN.
template <int D>
struct GatherTarget {
  float* fixed = nullptr; // null: not wanted
  float* moving = nullptr;
  std::array<float*, D> gradientPerMm{}; // of the moving image at T(x); null: not wanted
  unsigned long long* asked = nullptr;   // how many the mask lets through are added; null: there is no mask
};

template <int D>
struct MovingOnCuda {
  InterpolatorOnCuda<D> image;
  MaskOnCuda<D> mask;
  bool turnsGradient = false;
  Matrix<D> gradientMatrix{}; // applied to gradients if so
};

/// ChainPasses::gather for a lattice, an interpolator of order 1, and T(x) = before(x) + u(x); u (mm, D
/// planar arrays) is read at each position unless it is null. Gradients may be written over it. Indices are
/// added up in another order than the CPU's; they agree to 1e-6 of a voxel. Bytes a position: reads 4 D of
/// the field and, from the caches, the moving image once; writes 4, and 4 D for gradients.
template <int D>
TESSERA_CUDA_ONLY void warpLatticeOnCuda(Context&, const SamplesOnCuda<D>&, const AffineMap<D>& before,
                                         const std::array<const float*, D>& field, const MovingOnCuda<D>&,
                                         const GatherTarget<D>&);

/// How a sum is added to a gradient: (gradient, or 0, + sum) / divisor.
struct GradientUpdate {
  bool overwrites = false;
  const double* divisor = nullptr; // on the device; null: 1; by 0: zeros
};

}
