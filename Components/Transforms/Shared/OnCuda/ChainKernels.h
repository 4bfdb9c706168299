#pragma once

#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.h"
#include "Core/Compute/CudaOnly.h"
#include "Core/Registration/Samples/SampleKernels.h"

// The kernels over samples that go through a chain. All arrays lie on the context's CUDA device.
namespace tessera {

/// Takes each sample through the chain and the moving image. It reads 4 bytes a sample (28 for a list of
/// points) and the moving image's support, and writes 8 bytes, and 4 D more for gradients.
template <int D>
TESSERA_CUDA_ONLY void gatherOnCuda(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,
                                    const MovingOnCuda<D>&, const GatherTarget<D>&);

/// field += T0(x) - x at the positions of a lattice (mm, D planar arrays), where T0 is `before`.
template <int D>
TESSERA_CUDA_ONLY void addDisplacementsOnCuda(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>& before,
                                              const std::array<float*, D>& field);

/// Adds the moments of the covectors about the last transform's centre, at the points where that transform is
/// evaluated. `scratch` holds momentScratch<D>() doubles. `factors` has one number for each sample that
/// multiplies its covector; the product is rounded to float. Null factors stand for 1.
template <int D>
TESSERA_CUDA_ONLY void momentsOnCuda(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,
                                     const std::array<const float*, D>& covectors, const float* factors,
                                     double* scratch, CovectorMoments<D>* moments);

constexpr int maxMomentBlocks = 264;
template <int D>
constexpr std::size_t momentScratch()
{
  return static_cast<std::size_t>(maxMomentBlocks) * (D + D * D);
}

/// The covectors of samples [first, first + count), times their factors, in double precision, and the points
/// at which the last transform is evaluated (NaN if the covector is 0). Both are planar: D arrays of `count`
/// values.
template <int D>
TESSERA_CUDA_ONLY void covectorsOnCuda(Context&, const SamplesOnCuda<D>&, std::size_t first,
                                       std::size_t count, const ChainOnCuda<D>&,
                                       const std::array<const float*, D>& covectors, const float* factors,
                                       double* points, double* values);

/// gradient += J^T v for the last transform, a B-spline, with covectors v and factors as for the moments.
/// Sums are 64-bit fixed-point numbers, so that they repeat. `sums` has the gradient's length and is all zero
/// before and after; `largest` is one word.
template <int D>
TESSERA_CUDA_ONLY void pullBackBSplineOnCuda(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,
                                             const std::array<const float*, D>& covectors,
                                             const float* factors, unsigned long long* sums,
                                             unsigned* largest, double* gradient, const GradientUpdate& = {});

}
