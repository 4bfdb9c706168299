#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/CudaOnly.h"
#include "Core/Compute/LoadConstant.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/Chain/TransformOnCuda.h"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.h"

#include <array>
#include <cstddef>
#include <optional>

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

/// Takes each sample through the chain and the moving image. Bytes a sample: reads 4 (and 24 of a list) and
/// the moving image's support, writes 8, and 4 D for gradients.
template <int D>
TESSERA_CUDA_ONLY void gatherOnCuda(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,
                                    const MovingOnCuda<D>&, const GatherTarget<D>&);

/// field += T0(x) - x at the positions of a lattice (mm, D planar arrays), so that what comes before an added
/// field needs no chain.
template <int D>
TESSERA_CUDA_ONLY void addDisplacementsOnCuda(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>& before,
                                              const std::array<float*, D>& field);

/// All linear transforms of a chain as one map; nothing if it has others.
template <int D>
TESSERA_CUDA_ONLY std::optional<AffineMap<D>> foldedLinear(const ChainOnCuda<D>&);

/// gatherOnCuda for a lattice, an interpolator of order 1, and T(x) = before(x) + u(x); u (mm, D planar
/// arrays) is read at each position unless it is null. Gradients may be written over it. Indices are added up
/// in another order than the CPU's; they agree to 1e-6 of a voxel. Bytes a position: reads 4 D of the field
/// and, from the caches, the moving image once; writes 4, and 4 D for gradients.
template <int D>
TESSERA_CUDA_ONLY void warpLatticeOnCuda(Context&, const SamplesOnCuda<D>&, const AffineMap<D>& before,
                                         const std::array<const float*, D>& field, const MovingOnCuda<D>&,
                                         const GatherTarget<D>&);

/// moments += those of the covectors about the last transform's centre, at the points where it is asked;
/// `scratch` holds momentScratch<D>() doubles. factors: one a sample that multiplies its covector, each
/// product rounded to float; null: all are 1.
template <int D>
TESSERA_CUDA_ONLY void momentsOnCuda(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,
                                     const std::array<const float*, D>& covectors, const float* factors,
                                     double* scratch, CovectorMoments<D>* moments);

constexpr int mostMomentBlocks = 264;
template <int D>
constexpr std::size_t momentScratch()
{
  return static_cast<std::size_t>(mostMomentBlocks) * (D + D * D);
}

/// Covectors, as the moments', of samples [first, first + count), in double, and the points where the last
/// transform is asked (NaN where all is 0). Planar: D arrays of `count` each.
template <int D>
TESSERA_CUDA_ONLY void covectorsOnCuda(Context&, const SamplesOnCuda<D>&, std::size_t first,
                                       std::size_t count, const ChainOnCuda<D>&,
                                       const std::array<const float*, D>& covectors, const float* factors,
                                       double* points, double* values);

/// What becomes of a gradient that something is added to: (gradient, or 0, + what is added) / divisor.
struct GradientUpdate {
  bool overwrites = false;
  const double* divisor = nullptr; // on the device; null: 1; by 0: zeros
};

/// gradient += J^T v of the last transform, a B-spline; v as the moments'. Sums are 64-bit fixed point, so
/// that they repeat; `sums` holds as many as the gradient, all zero before and after, and `largest` one word.
template <int D>
TESSERA_CUDA_ONLY void pullBackBSplineOnCuda(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,
                                             const std::array<const float*, D>& covectors,
                                             const float* factors, unsigned long long* sums,
                                             unsigned* largest, double* gradient, const GradientUpdate& = {});

}
