#pragma once

#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Registration/Samples/SampleKernels.h"
#include "Core/Registration/Samples/Samples.h"

// The kernels of the passes that ChainPasses.h describes. All arrays lie on the context's CUDA device.
namespace tessera {

/// ChainPasses::gather.
template <int D>
TESSERA_CUDA_ONLY void gatherOnCuda(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,
                                    const MovingOnCuda<D>&, const GatherTarget<D>&);

/// The moving intensities and gradients of ChainPasses::gather for points that are mapped, D planar arrays.
template <int D>
void gatherMappedOnCuda(Context& context, const double* mappedMm, std::size_t count,
                        const MovingOnCuda<D>& moving, GatherTarget<D> target)
{
  SamplesOnCuda<D> mapped;
  mapped.count = count;
  mapped.pointMm = planesOf<D>(mappedMm, count);
  target.fixed = nullptr;
  target.asked = nullptr;
  gatherOnCuda<D>(context, mapped, {}, moving, target);
}

/// Where samples are mapped to; null: not needed.
template <int D>
struct MappedTarget {
  double* mappedMm = nullptr;          // T(x), D planar arrays; NaN where the mask leaves out the sample
  std::array<float*, D> field{};       // T(x) - x is added here
  float* fixed = nullptr;              // as in GatherTarget
  unsigned long long* asked = nullptr; // as in GatherTarget
};

/// ChainPasses::map.
template <int D>
TESSERA_CUDA_ONLY void mapSamplesOnCuda(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,
                                        const MappedTarget<D>&);

/// ChainPasses::addDisplacements, and addDisplacementsBefore with the chain without its last transform.
template <int D>
TESSERA_CUDA_ONLY void addDisplacementsOnCuda(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,
                                              const std::array<float*, D>& field);

/// ChainPasses::addMoments. `scratch` holds momentScratch<D>() doubles.
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

/// Pull-backs to parameters take this many samples at once: 48 MiB in 3D.
constexpr std::size_t covectorsAtOnce = std::size_t(1) << 20;

/// The covectors of samples [first, first + count), times their factors, in double precision, and the points
/// at which the last transform is evaluated (NaN if the covector is 0). Both are planar: D arrays of `count`
/// values.
template <int D>
TESSERA_CUDA_ONLY void covectorsOnCuda(Context&, const SamplesOnCuda<D>&, std::size_t first,
                                       std::size_t count, const ChainOnCuda<D>&,
                                       const std::array<const float*, D>& covectors, const float* factors,
                                       double* points, double* values);

/// ChainPasses::pullBack for a last transform that is a B-spline. Sums are 64-bit fixed-point numbers, so
/// that they repeat. `sums` has the gradient's length and is all zero before and after; `largest` is one
/// word.
template <int D>
TESSERA_CUDA_ONLY void pullBackBSplineOnCuda(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>&,
                                             const std::array<const float*, D>& covectors,
                                             const float* factors, unsigned long long* sums,
                                             unsigned* largest, double* gradient, const GradientUpdate& = {});

}
