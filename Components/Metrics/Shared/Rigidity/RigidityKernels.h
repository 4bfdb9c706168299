#pragma once

#include "Components/Metrics/Shared/Rigidity/RigidityFormula.h"
#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.h"
#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"

#include <cstddef>

// The kernels of TransformRigidityPenalty. All arrays lie on the context's CUDA device.
namespace tessera {

/// The rigidity of the control points: the larger of `ofControlPoints` and the moving image at T(control
/// point), where T is the B-spline alone.
template <int D>
struct RigidityOfPoints {
  const double* ofControlPoints = nullptr;
  AffineMap<D> pointFromIndex; // of the grid

  const float* movingVoxels = nullptr; // null: no moving image
  std::array<int, D> movingSize{};
  PointToIndex<D> movingIndex{};
};

/// The sums, with room for those of the kernels' warps.
struct RigidityResult {
  RigiditySums sums;
  unsigned blocksDone = 0;
};
constexpr std::size_t maxRigidityWarps = 4224;
constexpr std::size_t rigidityScratch = maxRigidityWarps * (rigidity::conditions + 1);

/// Adds to the sums of a result that is all zeros and, unless it is null, writes `covectors`:
/// [component][covector][control point]. A control point reads 3^D coefficients of each component, from the
/// caches, and writes 8 D rigidityCovectors bytes.
template <int D>
TESSERA_CUDA_ONLY void sumRigidityOnCuda(Context&, const RigidityGrid<D>&, const RigidityOfPoints<D>&,
                                         const TransformOnCuda<D>&, double* scratch, double* covectors,
                                         RigidityResult*);

/// Writes the gradient of the penalty, and adds to the squares of the result.
template <int D>
TESSERA_CUDA_ONLY void pullBackRigidityOnCuda(Context&, const RigidityGrid<D>&,
                                              const std::array<double, rigidity::conditions>& weights,
                                              const double* covectors, double* scratch, RigidityResult*,
                                              double* gradient);

}
