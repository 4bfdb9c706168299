#pragma once

#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.h"
#include "Core/Compute/CudaOnly.h"
#include "Core/Registration/Samples/SampleKernels.h"

// Kernels over samples that go through a chain. All arrays lie on the context's CUDA device.
namespace tessera {

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

/// moments += those of the covectors about the last transform's centre, at the points where it is asked;
/// `scratch` holds momentScratch<D>() doubles. factors: one a sample that multiplies its covector, each
/// product rounded to float; null: all are 1.
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

/// Covectors, as the moments', of samples [first, first + count), in double, and the points where the last
/// transform is asked (NaN where all is 0). Planar: D arrays of `count` each.
template <int D>
TESSERA_CUDA_ONLY void covectorsOnCuda(Context&, const SamplesOnCuda<D>&, std::size_t first,
                                       std::size_t count, const ChainOnCuda<D>&,
                                       const std::array<const float*, D>& covectors, const float* factors,
                                       double* points, double* values);

/// gradient += J^T v of the last transform, a B-spline; v as the moments'. Sums are 64-bit fixed point, so
/// that they repeat; `sums` holds as many as the gradient, all zero before and after, and `largest` one word.
template <int D>
TESSERA_CUDA_ONLY void pullBackBSplineOnCuda(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,
                                             const std::array<const float*, D>& covectors,
                                             const float* factors, unsigned long long* sums,
                                             unsigned* largest, double* gradient, const GradientUpdate& = {});

}
