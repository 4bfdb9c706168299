#pragma once

#include "Core/Registration/CostTerm.h"

#include <optional>

namespace tessera {

/// A lattice of voxels along the axes of the grid of a chain's last transform, a cubic B-spline that is alone
/// or added to the transforms before it. There dT/dx = J0 + sum_a (du/di_a) (di_a/dx), with J0 the spatial
/// Jacobian of the transforms before, u the displacement of the B-spline and i the grid's index. A B-spline
/// is a product over the axes, so the derivatives by i are sums axis by axis:
///
///   1. planes: p0 = sum_l w_l c_l, p1 = sum_l w'_l c_l                   over control points of the last
///   axis
///   2. lines:  q0 = sum_m w_m p0, q1 = sum_m w'_m p0, q2 = sum_m w_m p1  over those of the middle axis (3D)
///   3. voxels: du/di = (sum_k w'_k q0, sum_k w_k q1, sum_k w_k q2)       over those of the first axis
///
/// with w and w' the weights and their derivatives. The adjoint does the same steps from the last to the
/// first. A voxel takes about 70 multiply-adds where a point by itself takes 600.
template <int D>
struct FoldingLattice {
  VoxelLattice<D> lattice;
  AlignedField<D> field;
  Matrix<D> before = identityMatrix<D>(); // J0 if the transforms before are linear
  bool beforeIsConstant = true;
};

/// Empty if the samples go point by point: there is a moving mask, the B-spline is not cubic, is composed
/// with transforms before it, or its grid does not run along the lattice's axes.
template <int D>
std::optional<FoldingLattice<D>> foldingLattice(const VoxelLattice<D>&, const TermLevel<D>&);

}
