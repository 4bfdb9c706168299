#pragma once

#include "Components/Metrics/Shared/Histograms/HistogramOnCuda.h"
#include "Components/Transforms/Shared/LandmarkSplines/SplineField.h"
#include "Core/Image/Filters/LineFilterOnCuda.h"
#include "Core/Image/Landmarks/StructureTensors.h"
#include "Core/Registration/FieldInterpolator.h"
#include "Tools/Bench/Model/KernelCost.h"

#include <array>
#include <vector>

// How much work the launches of kernels are, for the performance model: counts of the algorithm and of the
// machine code. Who changes one of these kernels changes its counts. All need a GPU, whose driver is asked.
namespace tessera {

/// separableDisplacementsOnCuda in 3D, cubic, with planar values.
KernelLaunch fieldCounts(const AlignedField<3>&);
/// warpLatticeOnCuda for a whole lattice with a smooth field and gradients.
KernelLaunch warpCounts(const std::array<int, 3>& positions);
/// HistogramOnCuda::accumulate for pairs without structure.
KernelLaunch histogramCounts(const HistogramOnCuda&, std::size_t pairs);
/// addDisplacementsOnCuda for one thin-plate spline.
KernelLaunch landmarkCounts(std::size_t samples, int landmarks);
/// pullBackBSplineOnCuda for a list of points without structure.
std::vector<KernelLaunch> adjointCounts(const Context&, std::size_t samples, std::size_t parameters);
/// filterLinesOnCuda along rows with one real pole.
KernelLaunch prefilterCounts(const Context&, const ExponentialFilter&, const LinesOnCuda& rows);
/// tapLinesOnCuda.
KernelLaunch tapCounts(const LinesOnCuda&, const AxisTaps&);
/// splineFieldOnCuda. `meanNear` and `maxNear` are the mean and the largest number of landmarks that are less
/// than plan.farMm from the middle of a block.
KernelLaunch splineFieldCounts(const SplineFieldPlan&, int landmarks, double meanNear, double maxNear);
/// enqueueSearch for so many landmarks that lie evenly in an image of so many voxels.
KernelLaunch searchCounts(std::size_t landmarks, const structuretensors::Window&, double voxels);

}
