#pragma once

#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Core/Compute/CudaOnly.h"

// Kernel of CorrespondingPointsEuclideanDistanceMetric. All arrays lie on the context's CUDA device.
namespace tessera {

/// All zero before.
template <int D>
struct DistanceSums {
  double sums[2]; // distances in mm, and pairs that count
  unsigned blocksDone;
  CovectorMoments<D> moments; // of linear transforms

  double distances() const { return sums[0]; }
  const double* valid() const { return sums + 1; }
};

constexpr std::size_t maxDistanceWarps = 4224;
constexpr std::size_t distanceScratch = 2 * maxDistanceWarps; // doubles

/// Distances of the mapped points to their partners and, unless null, covectors (mapped - partner) /
/// distance: those of pairs that coincide, or that the moving mask leaves out, are zero. Bytes a pair: 48
/// read, 12 written (3D).
template <int D>
TESSERA_CUDA_ONLY void
pointDistancesOnCuda(Context&, const SamplesOnCuda<D>& points, const std::array<const double*, D>& partnersMm,
                     const ChainOnCuda<D>&, const MaskOnCuda<D>& movingMask,
                     const std::array<float*, D>& covectors, double* scratch, DistanceSums<D>*);

}
