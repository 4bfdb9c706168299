#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/VoxelsOnCuda.h"
#include "Core/Registration/Extrapolation.h"
#include "Core/Registration/FieldInterpolator.h"
#include "Core/Registration/InterpolatorOnCuda.h"
#include "Core/Registration/TransformOnCuda.h"

// Kernels that write the moving image at T(x) for the voxels x of a lattice. All arrays lie on the context's CUDA device.
//
// Indices of the moving image are in fixed point, 32 bits behind the point, and displacements in single precision: they are within
// LatticeToResample::margin of the CPU's. Where that leaves a choice open (inside or outside, which voxel is the nearest, where a
// grid of control points ends) a voxel is marked and done again by the CPU's expressions in double
// precision, so that the choice is the CPU's.
namespace tessera {

/// Layers [firstLayer, endLayer) of the lattice's last axis; what is read of the moving image, and where from if all goes by
/// points.
template <int D>
struct LatticeToResample {
  std::array<int, D> size{};
  int firstLayer = 0, endLayer = 0;
  float* voxels = nullptr; // of those layers, x fastest
  AffineMap<D> pointFromIndex;
  ChainOnCuda<D> chain;
  InterpolatorOnCuda<D> image;
  std::array<unsigned, D> innerCells{}; // by their first knot, those all of whose knots lie in the image
  AffineMap<D> pointFromImageIndex;
  MaskOnCuda<D> valid;
  bool validHasImagesGrid = false;
  Extrapolation extrapolation = Extrapolation::constant;
  float outside = 0;          // value of voxels that are mapped outside the moving image
  float margin = 0;           // voxels of the moving image
  unsigned* unsure = nullptr; // a bit a voxel, zero before: what resampleUnsureVoxels has to do; unused by resampleByPoints
};

template <int D>
std::size_t wordsOfMarks(const LatticeToResample<D>& r)
{
  std::size_t voxels = static_cast<std::size_t>(r.endLayer - r.firstLayer);
  for (int d = 0; d + 1 < D; ++d)
    voxels *= static_cast<std::size_t>(r.size[d]);
  return (voxels + 31) / 32;
}

/// Index as a function of a lattice's voxel, 32 bits behind the point.
template <int D>
struct FixedPointMap {
  long long start[D], step[D][D]; // of index d, along lattice axis e
};

/// Displacements of a cubic B-spline of control points as they enter the moving image's index.
template <int D>
struct SplineToResample {
  FixedPointMap<D> gridIndex;             // of the first control point that carries a voxel
  float gridMargin = 0;                   // control points by which that may be off
  std::array<int, D> points{};            // control points an axis
  const float* coefficients = nullptr;    // mm, planar, x fastest
  float indexFromDisplacement[D][D] = {}; // of the moving image, per mm
};

/// By one linear map. Bytes a voxel: writes 4 and, from the caches, reads the moving image once.
template <int D>
void resampleLinearly(Context&, const LatticeToResample<D>&, const FixedPointMap<D>& index);

/// By a linear map and a B-spline that is evaluated along the axes of its grid, which are the lattice's; any spacing of at least
/// one voxel. Bytes a voxel: the same.
template <int D>
void resampleByTiles(Context&, const LatticeToResample<D>&, const FixedPointMap<D>& index, const SplineToResample<D>&,
                     const AlignedField<D>&);

/// The same wherever the grid lies: D 4^D coefficients a voxel are read from the caches.
template <int D>
void resampleBySpline(Context&, const LatticeToResample<D>&, const FixedPointMap<D>& index, const SplineToResample<D>&);

/// After the others: voxels that they have marked, by points.
template <int D>
void resampleUnsureVoxels(Context&, const LatticeToResample<D>&);

/// By any chain, in double precision.
template <int D>
void resampleByPoints(Context&, const LatticeToResample<D>&);

}
