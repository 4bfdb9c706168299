#pragma once

#include "Components/Metrics/Shared/FoldingFormula.h"
#include "Components/Metrics/Shared/JetPenaltyKernels.h"
#include "Core/Compute/Math/FieldAxis.h"

// The kernels of a FoldingLattice. All arrays lie on the context's CUDA device, in double precision but for
// J0. Slices go in chunks, whose planes and lines stay in the L2 cache.
namespace tessera {

template <int D>
struct FoldingLatticeOnDevice {
  FieldAxis axes[D];
  FoldingAtVoxel<D> folding;
  const double* coefficients = nullptr; // the B-spline's, in mm
  const std::uint8_t* asked = nullptr;  // one a voxel; null: all count
  const float* before = nullptr;        // J0: entry * all voxels + voxel; null: it is constant
  std::size_t voxels = 0;               // in the whole lattice

  TESSERA_HOST_DEVICE int linePoints() const { return axes[0].points; }
  TESSERA_HOST_DEVICE int planePoints() const
  {
    return D == 3 ? axes[0].points * axes[1].points : axes[0].points;
  }
  TESSERA_HOST_DEVICE int rows() const { return D == 3 ? axes[1].voxels : 1; } // in a slice
};

/// Slices [first, first + count) of the last axis, and their arrays.
template <int D>
struct FoldingChunk {
  int first = 0, count = 0;
  double* planes = nullptr; // ((slice * D + component) * 2 + plane) * planePoints + point
  double* lines =
      nullptr; // ((row * D + component) * D + line) * linePoints + point; in 2D they are the planes
};

/// The bytes of shared memory of a block, beside 18 kB.
template <int D>
std::size_t foldingSharedBytes(int linePoints)
{
  return D * D * sizeof(double) * static_cast<std::size_t>(linePoints);
}

/// J0 at all voxels of a lattice: a jet of the chain a voxel.
template <int D>
TESSERA_CUDA_ONLY void jacobiansBeforeOnCuda(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>& before,
                                             float* jacobians);

/// Adds a chunk to the sums, and to the sum of gradients unless that is null. `scratch` holds jetScratch<D>()
/// doubles.
template <int D>
TESSERA_CUDA_ONLY void foldingOfSlicesOnCuda(Context&, const FoldingLatticeOnDevice<D>&,
                                             const FoldingChunk<D>&, double* scratch, double* gradient,
                                             JetSums<D>*);

/// Divides the sum of gradients by the number of valid samples.
template <int D>
TESSERA_CUDA_ONLY void meanFoldingGradientOnCuda(Context&, std::size_t count, const JetSums<D>*,
                                                 double* gradient);

}
