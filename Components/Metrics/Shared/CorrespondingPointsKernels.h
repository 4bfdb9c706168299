#pragma once

#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Core/Compute/Cuda/CudaOnly.h"

// The kernel of CorrespondingPointsEuclideanDistanceMetric. All arrays lie on the context's CUDA device.
namespace tessera {

/// Sums over all pairs; all zero before the kernel runs.
template <int D>
struct DistanceSums {
  double sums[2]; // the sum of distances in mm, and the number of pairs that count
  unsigned blocksDone;
  CovectorMoments<D> moments; // used if the last transform is linear

  double distances() const { return sums[0]; }
  const double* valid() const { return sums + 1; }
};

constexpr std::size_t maxDistanceWarps = 4224;
constexpr std::size_t distanceScratch = 2 * maxDistanceWarps; // doubles

/// Finds the distances between mapped points and their partners and, unless null, the covectors (mapped -
/// partner) / distance. The covector is zero for a pair at distance 0, and for one that the moving mask
/// leaves out. In 3D a pair reads 48 bytes and writes 12.
template <int D>
TESSERA_CUDA_ONLY void
pointDistancesOnCuda(Context&, const SamplesOnCuda<D>& points, const std::array<const double*, D>& partnersMm,
                     const ChainOnCuda<D>&, const MaskOnCuda<D>& movingMask,
                     const std::array<float*, D>& covectors, double* scratch, DistanceSums<D>*);

}
