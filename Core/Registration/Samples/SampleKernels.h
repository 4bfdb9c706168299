#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Cuda/LoadConstant.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.h"

#include <array>
#include <cstddef>

// The kernels over the samples of a cost term. All arrays lie on the context's CUDA device.
namespace tessera {

/// Samples: a list of points, or the positions of a lattice, of which a mask may leave out some.
template <int D>
struct SamplesOnCuda {
  std::size_t count = 0;
  const float* fixed = nullptr;           // fixed intensities; null if the gather pass writes them
  std::array<const double*, D> pointMm{}; // coordinates of a list of points; null for a lattice

  AffineMap<D> pointFromIndex;
  /// First voxel, step in voxels and number of positions along each axis of a lattice.
  std::array<int, D> first{}, step{}, positions{};
  std::array<int, D> imageSize{};
  const float* image = nullptr;
  const std::uint8_t* asked = nullptr; // one a position, 0 where the mask leaves it out; null without a mask

  TESSERA_HOST_DEVICE bool isList() const { return pointMm[0] != nullptr; }
  TESSERA_HOST_DEVICE bool isAsked(std::size_t i) const
  {
    return asked == nullptr || loadConstant(asked + i) != 0;
  }
};

/// Finds whether the mask contains the point of each position of a lattice. It writes a byte a position.
template <int D>
TESSERA_CUDA_ONLY void maskLatticeOnCuda(const Context&, const SamplesOnCuda<D>&, const MaskOnCuda<D>&,
                                         std::uint8_t* asked);

/// Results for each sample. The moving intensity of a sample that does not count becomes NaN.
template <int D>
struct GatherTarget {
  float* fixed = nullptr; // null: not needed
  float* moving = nullptr;
  std::array<float*, D> gradientPerMm{}; // gradient of the moving image at T(x); null: not needed
  /// The number of samples that the mask contains is added here; null without a mask.
  unsigned long long* asked = nullptr;
};

template <int D>
struct MovingOnCuda {
  InterpolatorOnCuda<D> image;
  MaskOnCuda<D> mask;
  bool turnsGradient = false;
  Matrix<D> gradientMatrix{}; // multiplied with gradients if turnsGradient is true
};

/// ChainPasses::gather for a lattice and an interpolator of order 1, where T(x) = before(x) + u(x). The
/// displacements u (mm, D planar arrays) are given for each position; null stands for zero. Gradients may
/// overwrite them. Indices are added up in another order than on the CPU; they agree to 1e-6 of a voxel. A
/// position reads 4 D bytes of the field and, through the caches, the moving image once; it writes 4 bytes,
/// and 4 D for gradients.
template <int D>
TESSERA_CUDA_ONLY void warpLatticeOnCuda(Context&, const SamplesOnCuda<D>&, const AffineMap<D>& before,
                                         const std::array<const float*, D>& field, const MovingOnCuda<D>&,
                                         const GatherTarget<D>&);

/// How a sum becomes a gradient: (previous gradient + sum) / divisor, or sum / divisor if it overwrites.
struct GradientUpdate {
  bool overwrites = false;
  const double* divisor = nullptr; // on the device; null: 1. If it is 0, the gradient becomes zero
};

}
