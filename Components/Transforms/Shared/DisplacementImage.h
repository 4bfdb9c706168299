#pragma once

#include "Core/Compute/Cuda/LoadConstant.h"
#include "Core/Compute/Math/SmallMatrix.h"

#include <array>
#include <cmath>
#include <cstddef>

namespace tessera {

/// x + u(x), with u an image of displacements in mm: voxels[component + D * voxel], in the memory of whoever
/// evaluates it. The displacement is zero outside of the image, which ends half a voxel beyond the outermost
/// voxel centres.
template <int D>
struct DisplacementImage {
  const float* voxels = nullptr;
  std::array<int, D> size{};
  AffineMap<D> indexFromPoint;
  int order = 0; // 0: nearest voxel; 1: linear

  TESSERA_HOST_DEVICE Vec<D> operator()(const Vec<D>& pointMm) const
  {
    Cell cell;
    Vec<D> u{};
    if (find(pointMm, cell)) {
      if (order == 0)
        TESSERA_UNROLL
      for (int d = 0; d < D; ++d)
        cell.fraction[d] = cell.fraction[d] < 0.5 ? 0 : 1; // ITK rounds half up
      forEachCorner(cell, [&](const float* displacement, int corner) {
        double weight = 1;
        TESSERA_UNROLL
        for (int d = 0; d < D; ++d)
          weight *= sideWeight(cell, corner, d);
        TESSERA_UNROLL
        for (int k = 0; k < D; ++k)
          u[k] += weight * loadConstant(displacement + k);
      });
    }
    TESSERA_UNROLL
    for (int k = 0; k < D; ++k)
      u[k] = pointMm[k] + u[k];
    return u;
  }

  /// First and second derivatives of the linear interpolant: jacobian[component][axis],
  /// hessian[component][entries of the upper triangle, row-wise].
  TESSERA_HOST_DEVICE void derivatives(const Vec<D>& pointMm, double (&jacobian)[D][D],
                                       double (&hessian)[D][D * (D + 1) / 2]) const
  {
    Cell cell;
    double g[D][D] = {}, h[D][D][D] = {}; // derivatives by the index
    if (find(pointMm, cell))
      forEachCorner(cell, [&](const float* displacement, int corner) {
        TESSERA_UNROLL
        for (int a = 0; a < D; ++a) {
          TESSERA_UNROLL
          for (int b = a; b < D; ++b) {
            double weight = 1; // its factor is differentiated along a, and along b if that is another axis
            TESSERA_UNROLL
            for (int d = 0; d < D; ++d)
              weight *= d == a || d == b ? (corner >> d & 1 ? 1 : -1) : sideWeight(cell, corner, d);
            TESSERA_UNROLL
            for (int k = 0; k < D; ++k)
              (a == b ? g[k][a] : h[k][a][b]) += weight * loadConstant(displacement + k);
          }
        }
      });
    const Matrix<D>& axes = indexFromPoint.matrix;
    TESSERA_UNROLL
    for (int k = 0; k < D; ++k) {
      TESSERA_UNROLL
      for (int p = 0; p < D; ++p) {
        double slope = k == p ? 1 : 0;
        TESSERA_UNROLL
        for (int a = 0; a < D; ++a)
          slope += g[k][a] * axes[a][p];
        jacobian[k][p] = slope;
        TESSERA_UNROLL
        for (int q = p; q < D; ++q) {
          double second = 0;
          TESSERA_UNROLL
          for (int a = 0; a < D; ++a) {
            TESSERA_UNROLL
            for (int b = a + 1; b < D; ++b)
              second += h[k][a][b] * (axes[a][p] * axes[b][q] + axes[b][p] * axes[a][q]);
          }
          hessian[k][p * D - p * (p - 1) / 2 + q - p] = second;
        }
      }
    }
  }

private:
  /// The 2^D voxels around a point, and its place between them.
  struct Cell {
    // Offsets of the lower and upper voxel along each axis, times the number of components.
    std::size_t offset[2][D];
    double fraction[D]; // place between them, from 0 to 1
  };

  /// False outside of the image.
  TESSERA_HOST_DEVICE bool find(const Vec<D>& pointMm, Cell& cell) const
  {
    const Vec<D> index = indexFromPoint(pointMm);
    std::size_t stride = D;
    bool inside = true;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      const double last = size[d] - 1;
      inside = inside && index[d] >= -0.5 && index[d] < last + 0.5;
      const double lower = std::floor(inside ? index[d] : 0);
      cell.fraction[d] = index[d] - lower;
      cell.offset[0][d] = static_cast<std::size_t>(lower > 0 ? lower : 0) * stride;
      cell.offset[1][d] = static_cast<std::size_t>(lower + 1 < last ? lower + 1 : last) * stride;
      stride *= static_cast<std::size_t>(size[d]);
    }
    return inside;
  }

  /// Calls visit(first component of a corner's displacement, bits that say for each axis whether the corner
  /// is the upper one).
  template <class Visit>
  TESSERA_HOST_DEVICE void forEachCorner(const Cell& cell, Visit&& visit) const
  {
    TESSERA_UNROLL
    for (int corner = 0; corner < 1 << D; ++corner) {
      std::size_t offset = 0;
      TESSERA_UNROLL
      for (int d = 0; d < D; ++d)
        offset += cell.offset[corner >> d & 1][d];
      visit(voxels + offset, corner);
    }
  }

  static TESSERA_HOST_DEVICE double sideWeight(const Cell& cell, int corner, int axis)
  {
    return corner >> axis & 1 ? cell.fraction[axis] : 1 - cell.fraction[axis];
  }
};

}
