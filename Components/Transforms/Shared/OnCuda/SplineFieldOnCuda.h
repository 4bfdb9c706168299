#pragma once

#include "Components/Transforms/Shared/LandmarkSplines/SplineFieldTasks.h"
#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Performance/KernelCost.h"

#include <span>

// The displacements of a spline of landmarks at the voxels of a lattice. A block of threads computes a block
// of voxels (SplineFieldTasks.h).
namespace tessera {

/// Writes T(x) - x in mm, three floats a voxel, for slices [first, first + count) of the plan's lattice.
/// `spline` lies in memory of the device. A voxel has the same bits whichever slices one call computes. Some
/// n^3 / 4096 pairs of a voxel and a landmark are computed for each voxel and far landmark; writes 12 bytes a
/// voxel.
TESSERA_CUDA_ONLY void splineFieldOnCuda(const Context&, const SplineFieldPlan&,
                                         const SplineOfLandmarks<3>& spline, std::size_t first,
                                         std::size_t count, float* displacements);

/// The launch of splineFieldOnCuda for all slices by a thin-plate spline in single precision. `meanNear` and
/// `maxNear` are the mean and the largest number of landmarks that are less than plan.farMm from the middle
/// of a block.
TESSERA_CUDA_ONLY KernelLaunch splineFieldLaunch(const SplineFieldPlan&, int landmarks, double meanNear,
                                                 double maxNear);

/// Writes T(x) - x for all slices to the host's memory, in slabs of at most 256 MB.
void splineFieldToHost(const Context&, const SplineFieldPlan&, const SplineOfLandmarks<3>& spline,
                       std::span<float> displacements);

}
