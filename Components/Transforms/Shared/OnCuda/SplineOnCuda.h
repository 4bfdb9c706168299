#pragma once

#include "Components/Transforms/Shared/OnCuda/KernelForm.h"
#include "Components/Transforms/Shared/SplineKernel.h"
#include "Core/Compute/CudaOnly.h"

#include <memory>
#include <vector>

// Splines of landmarks on a CUDA device. T depends on its parameters linearly: vectors (SplineOfLandmarks) =
// those of the identity
// + influence * displacements of the landmarks. Rows of vectors and sums have D numbers: landmarks, D columns
// of I + A, b.
namespace tessera {

/// A spline's numbers on the host.
template <int D>
struct SplineForCuda {
  SplineKernel kernel = SplineKernel::thinPlate;
  double alpha = 0;
  int block = 1; // components that the system couples: 1 or D
  std::vector<double> landmarksMm;
  std::vector<double> vectors;   // of a spline that stays as it is
  std::vector<double> influence; // of one whose parameters change: (landmarks + D + 1) * block rows of
                                 // landmarks * block numbers
};

/// With its parameters open if there is an influence.
template <int D>
std::unique_ptr<HeldTransformOnCuda<D>> holdSplineOnCuda(const Context&, const SplineForCuda<D>&);

/// The vectors of parameters on the device; a warp a number, 8 (landmarks * block) bytes each.
template <int D>
TESSERA_CUDA_ONLY void splineVectorsOnCuda(const Context&, const TransformOnCuda<D>&,
                                           const double* parameters, double* vectors);

constexpr std::size_t maxSplineSlabs = 1024;
/// Doubles that sums of `landmarks` take on their way.
template <int D>
constexpr std::size_t splineScratch(std::size_t landmarks)
{
  return maxSplineSlabs * (landmarks + D + 1) * D;
}

/// Bytes of that, and of the sums.
template <int D>
constexpr double splineSumBytes(std::size_t landmarks)
{
  return static_cast<double>(sizeof(double) * (splineScratch<D>(landmarks) + (landmarks + D + 1) * D));
}

/// sums (`overwrites`: instead of what is there) += sum over samples of (d T / d vectors)^T v. Planar arrays
/// of `count` doubles: `points`, D of them, where the spline is asked (NaN: not at all), and `covectors`, D.
/// Each sum has a fixed order; reads 16 D bytes a sample for 32 rows, computes each kernel once a sample and
/// landmark.
template <int D>
TESSERA_CUDA_ONLY void sumSplineCovectorsOnCuda(Context&, const TransformOnCuda<D>&, std::size_t count,
                                                const double* points, const double* covectors,
                                                double* scratch, double* sums, bool overwrites);

/// The same of covectors of the spline's first (if `throughJacobian`) and second derivatives: by components,
/// D of the first, then the upper triangle of the second, whose entries count once.
template <int D>
TESSERA_CUDA_ONLY void sumSplineDerivativeCovectorsOnCuda(Context&, const TransformOnCuda<D>&,
                                                          std::size_t count, const double* points,
                                                          const double* covectors, bool throughJacobian,
                                                          double* scratch, double* sums, bool overwrites);

/// gradient += influence^T * sums.
template <int D>
TESSERA_CUDA_ONLY void splineGradientOnCuda(Context&, const TransformOnCuda<D>&, const double* sums,
                                            double* gradient, const GradientUpdate&);

}
