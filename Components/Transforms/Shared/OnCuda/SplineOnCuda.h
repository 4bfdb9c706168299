#pragma once

#include "Components/Transforms/Shared/LandmarkSplines/SplineKernel.h"
#include "Components/Transforms/Shared/OnCuda/KernelForm.h"
#include "Core/Compute/Cuda/CudaOnly.h"

#include <memory>
#include <vector>

// Splines of landmarks on a CUDA device. T is linear in its parameters: the vectors (SplineOfLandmarks) are
// those of the identity + influence * displacements of the landmarks. Rows of vectors and of sums have D
// numbers; there is a row for each landmark, for each column of I + A, and for b.
namespace tessera {

/// The numbers of a spline on the host.
template <int D>
struct SplineForCuda {
  SplineKernel kernel = SplineKernel::thinPlate;
  double alpha = 0;
  int block = 1; // components that its system couples: 1 or D
  std::vector<double> landmarksMm;
  std::vector<double> vectors; // used if the spline is constant
  /// Used if parameters change: (landmarks + D + 1) * block rows of landmarks * block numbers.
  std::vector<double> influence;
};

/// Holds the spline. If there is an influence, parameters are given to each call.
template <int D>
std::unique_ptr<HeldTransformOnCuda<D>> holdSplineOnCuda(const Context&, const SplineForCuda<D>&);

/// Computes the vectors from parameters on the device. Each warp computes one number and reads 8 (landmarks *
/// block) bytes.
template <int D>
TESSERA_CUDA_ONLY void splineVectorsOnCuda(const Context&, const TransformOnCuda<D>&,
                                           const double* parameters, double* vectors);

constexpr std::size_t maxSplineSlabs = 1024;
/// The number of doubles of scratch memory for the sums of `landmarks` landmarks.
template <int D>
constexpr std::size_t splineScratch(std::size_t landmarks)
{
  return maxSplineSlabs * (landmarks + D + 1) * D;
}

/// Adds (`overwrites`: assigns) to `sums` the sum over samples of (d T / d vectors)^T v. Both arrays are
/// planar with `count` doubles: D of `points`, at which the spline is evaluated (NaN: the sample does not
/// count), and D of `covectors`. Each sum has a fixed order. For each 32 rows it reads 16 D bytes a sample,
/// and it computes each kernel once for a sample and landmark.
template <int D>
TESSERA_CUDA_ONLY void sumSplineCovectorsOnCuda(Context&, const TransformOnCuda<D>&, std::size_t count,
                                                const double* points, const double* covectors,
                                                double* scratch, double* sums, bool overwrites);

/// The same for covectors of the spline's first (if `throughJacobian`) and second derivatives. They are
/// ordered by components: D of the first derivatives, then (if `throughHessian`; without it they are not
/// there) the upper triangle of the second ones, whose entries count once.
template <int D>
TESSERA_CUDA_ONLY void
sumSplineDerivativeCovectorsOnCuda(Context&, const TransformOnCuda<D>&, std::size_t count,
                                   const double* points, const double* covectors, bool throughHessian,
                                   bool throughJacobian, double* scratch, double* sums, bool overwrites);

/// gradient += influence^T * sums.
template <int D>
TESSERA_CUDA_ONLY void splineGradientOnCuda(Context&, const TransformOnCuda<D>&, const double* sums,
                                            double* gradient, const GradientUpdate&);

}
