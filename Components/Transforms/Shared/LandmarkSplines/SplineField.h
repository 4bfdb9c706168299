#pragma once

#include "Components/Transforms/Shared/LandmarkSplines/SplineKernel.h"
#include "Core/Compute/Context.h"

#include <array>
#include <cstddef>
#include <optional>
#include <span>

// Displacements of a spline of landmarks at all voxels of a lattice, to a stated tolerance. The lattice is
// cut into blocks of 16x16x16 voxels. The terms of landmarks that are at least twice as far from the middle
// of a block as its corners are smooth in it: their sum is computed at n x n x n Chebyshev nodes, and a
// polynomial carries it to the voxels. The terms of near landmarks are computed at each voxel. A landmark's
// polynomial has an error that each node of an axis makes some 5 times smaller (Trefethen, Approximation
// Theory and Approximation Practice, 2013, theorem 8.2). The CPU does the same once more with super-blocks of
// 4x4x4 blocks: the terms of landmarks that are far from a super-block are computed at its nodes, and its
// polynomial carries their sum to the nodes of the blocks.
namespace tessera {

constexpr double usualFieldToleranceMm = 1e-3;

struct SplineFieldPlan {
  static constexpr int blockVoxels = 16, fewestNodes = 3, maxNodes = 9; // along each axis
  static constexpr int superBlocks = 4;                                 // blocks of a super-block
  /// The size of a super-block, from first to last voxel, over that of a block.
  static constexpr double superScale = (superBlocks * blockVoxels - 1.0) / (blockVoxels - 1);

  AffineMap<3> pointFromIndex;
  std::array<int, 3> size{};
  int nodes = fewestNodes;
  int superNodes = 0;               // of a super-block; 0: there is no polynomial exact enough
  bool isSingle = false;            // in single precision; else in double
  double farMm = 0;                 // distance from the middle of a block from which on landmarks are far
  double boundMm = 0;               // estimate of the largest error by polynomials
  double nodePlaces[maxNodes] = {}; // voxels from the middle of a block
  double weights[blockVoxels][maxNodes] = {}; // of a node for a voxel

  TESSERA_HOST_DEVICE int blocks(int axis) const { return (size[axis] + blockVoxels - 1) / blockVoxels; }
};

/// The place of a Chebyshev node, from -1 to 1.
double chebyshevNode(int node, int nodes);
/// The weight of a node in the polynomial through all of them, at a place.
double nodeWeight(const double* nodePlaces, int nodes, int node, double place);

/// The plan with the fewest nodes whose error is at most the tolerance, as estimated for the place where the
/// landmarks are closest. In single precision if that suffices, which only the kernel r allows. Empty if no
/// plan is exact enough. `spline` lies in host memory.
std::optional<SplineFieldPlan> planSplineField(const SplineOfLandmarks<3>& spline,
                                               const AffineMap<3>& pointFromIndex,
                                               const std::array<std::size_t, 3>& size,
                                               double toleranceMm = usualFieldToleranceMm);

/// T(x) - x in mm at all voxels of the plan's lattice, three floats a voxel, on the threads of the CPU, with
/// the same bits for any number of them.
void splineFieldOnCpu(const Context&, const SplineFieldPlan&, const SplineOfLandmarks<3>&,
                      std::span<float> displacements);

}
