#pragma once

#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/HostDevice.h"

#include <cmath>

// The kernel of CorrespondingPointsEuclideanDistanceMetric and DisplacementMagnitudePenalty. All arrays lie
// on the context's CUDA device.
namespace tessera {

/// Sums over all points; all zero before the first kernel runs.
template <int D>
struct DistanceSums {
  // of weighted distances in mm or mm^2, of the weights of the points that count, of these points, and of
  // the points inside the mask
  double sums[4];
  unsigned blocksDone;
  CovectorMoments<D> moments; // used if the last transform is linear

  double distances() const { return sums[0]; }
  const double* weights() const { return sums + 1; }
  double valid() const { return sums[2]; }
  double asked() const { return sums[3]; }
};

/// The distance d of a mapped point from a partner that is known to e mm counts as sqrt(d^2 + e^2) - e
/// (pseudo-Huber, Charbonnier et al. 1997): as d^2 / (2 e) far below e, as d - e far above; d itself if e is
/// 0.
struct PairDistance {
  double value;
  double root; // the difference by it is the derivative by the mapped point

  TESSERA_HOST_DEVICE PairDistance(double squaredDistance, double errorMm)
      : root(sqrt(squaredDistance + errorMm * errorMm))
  {
    value = root - errorMm;
  }
};

/// The partners y of points; null: each point is its own.
template <int D>
struct PartnersOnCuda {
  std::array<const double*, D> mm{};
  const double* weights = nullptr; // null: all are 1
  double errorMm = 0;
};

constexpr std::size_t maxDistanceWarps = 4224;
constexpr std::size_t distanceScratch = 4 * maxDistanceWarps; // doubles

/// Adds the PairDistance of T(x) and y for the points x and their partners y, times their weights, or,
/// without partners, |T(x) - x|^2. Unless null, covectors receive the derivative by T(x), which is zero for
/// points that do not count and for pairs at distance 0. In 3D a pair reads 48 bytes and writes 12.
template <int D>
TESSERA_CUDA_ONLY void distancesOnCuda(Context&, const SamplesOnCuda<D>& points, const PartnersOnCuda<D>&,
                                       const ChainOnCuda<D>&, const MaskOnCuda<D>& movingMask,
                                       const std::array<float*, D>& covectors, double* scratch,
                                       DistanceSums<D>*);

}
