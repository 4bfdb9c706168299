#pragma once

#include "Components/Transforms/Shared/LandmarkSplines/SplineFieldTasks.h"
#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Cuda/LaunchShape.h"

#include <span>

// The displacements of a spline of landmarks at the voxels of a lattice. A block of threads computes a block
// of voxels (SplineFieldTasks.h).
namespace tessera {

namespace splinefield {

/// The most threads of a block. Nodes are shared out as for so many whatever their number, so that sums are
/// added in the same order.
constexpr int mostThreads = 256;

}

/// Writes T(x) - x in mm, three floats a voxel, for slices [first, first + count) of the plan's lattice.
/// `spline` lies in memory of the device. A voxel has the same bits whichever slices one call computes. Some
/// n^3 / 4096 pairs of a voxel and a landmark are computed for each voxel and far landmark; writes 12 bytes a
/// voxel.
TESSERA_CUDA_ONLY void splineFieldOnCuda(const Context&, const SplineFieldPlan&,
                                         const SplineOfLandmarks<3>& spline, std::size_t first,
                                         std::size_t count, float* displacements);

/// The launch of splineFieldOnCuda for all slices by a thin-plate spline in single precision.
TESSERA_CUDA_ONLY LaunchShape splineFieldShape(const SplineFieldPlan&, int landmarks);

/// Writes T(x) - x for all slices to the host's memory, in slabs of at most 256 MB.
void splineFieldToHost(const Context&, const SplineFieldPlan&, const SplineOfLandmarks<3>& spline,
                       std::span<float> displacements);

}
