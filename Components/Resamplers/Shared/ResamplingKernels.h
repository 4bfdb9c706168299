#pragma once

#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.h"
#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/Interpolation/Extrapolation.h"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.h"

// Kernels that evaluate the moving image at T(x) for the voxels x of a lattice. All arrays lie on the CUDA
// device of the context.
//
// Kernels compute indices of the moving image in single precision, relative to the index of the middle of a
// run of voxels. Such an index differs from the CPU's by at most LatticeToResample::margin. A voxel is marked
// where this error could change a decision: inside or outside the image, which voxel is the nearest, or where
// the grid of control points ends. Marked voxels are computed again by the CPU's expressions in double
// precision, so that every decision is the CPU's.
namespace tessera {

/// One launch: slices [firstSlice, endSlice) of the lattice's last axis, the moving image, and the chain for
/// resampleByPoints.
template <int D>
struct LatticeToResample {
  std::array<int, D> size{};
  int firstSlice = 0, endSlice = 0;
  float* voxels = nullptr; // result in those slices, x fastest
  AffineMap<D> pointFromIndex;
  ChainOnCuda<D> chain;
  /// Not null: T(x) of the voxels of the slices, as D planar arrays, in place of the chain
  /// (resampleByPoints).
  const double* mappedMm = nullptr;
  InterpolatorOnCuda<D> image;
  std::array<unsigned, D> innerCells{}; // number of cells along each axis whose knots all lie in the image
  // No labels, no mask, and more voxels along each axis than the spline's order: the index alone decides
  // about a voxel.
  bool hasPlainValues = false;
  std::array<unsigned, D> steps{}; // voxels in memory from one voxel to the next along each axis of the image
  unsigned stepsOfWholeNumbers = 0; // sum of steps * bitsOfWholeNumbers over the axes, modulo 2^32
  AffineMap<D> pointFromImageIndex;
  MaskOnCuda<D> valid;
  bool validHasImagesGrid = false;
  Extrapolation extrapolation = Extrapolation::constant;
  float outside = 0; // value of voxels that are mapped outside the moving image
  float margin = 0;  // largest error of an index, in voxels of the moving image
  // Distance in voxels from the ends of the inner cells, towards the image's middle, from which on a plain
  // value is right.
  float plainDepth = 0;
  // A bit a voxel, all zero before the launch: the voxels that resampleUnsureVoxels computes again. Unused by
  // resampleByPoints.
  unsigned* unsure = nullptr;
};

/// Length of LatticeToResample::unsure in words of 32 bits: whole vectors of four words.
template <int D>
std::size_t wordsOfMarks(const LatticeToResample<D>& r)
{
  std::size_t voxels = static_cast<std::size_t>(r.endSlice - r.firstSlice);
  for (int d = 0; d + 1 < D; ++d)
    voxels *= static_cast<std::size_t>(r.size[d]);
  return (voxels + 127) / 128 * 4;
}

/// The index of a grid as a linear function of the voxel of the lattice.
template <int D>
struct IndexMap {
  double matrix[D][D], offset[D]; // column e: along lattice axis e
  float step[D][D];               // the matrix
  float reach[D];                 // bound of the distance of a run's indices from that of its middle
};

// Warps of a block. In resampleBySpline they share the control points in shared memory.
constexpr int warpsOfBlock = 4, warpsOfSplineBlock = 8;

/// The run of voxels of one warp. Its 32 lanes form rows of 2^bitsOfLanesX lanes along x; each lane computes
/// 2^bitsOfVoxels voxels along the last axis of the lattice. In 2D, where the rows of lanes lie along the
/// same axis, consecutive voxels of a lane are as many rows apart as there are rows of lanes. The `warps` of
/// a block are neighbours along y.
struct RunShape {
  int bitsOfLanesX = 5, bitsOfVoxels = 5, warps = warpsOfBlock;

  constexpr int voxelsALane() const { return 1 << bitsOfVoxels; }
};

/// The cubic B-spline of a chain, as a term of the moving image's index.
template <int D>
struct SplineToResample {
  IndexMap<D> gridIndex;                  // index of the first of the control points that support a voxel
  float gridMargin = 0;                   // largest error of that index, in control points
  std::array<int, D> points{};            // control points along each axis
  float indexFromDisplacement[D][D] = {}; // voxels of the moving image per mm of displacement
  const float* coefficients = nullptr;    // mm, planar, x fastest
  double reachOfBlock[D] = {};  // bound of the distance of a block's grid indices from that of its middle
  std::size_t bytesOfBlock = 0; // bytes of shared memory
};

/// For a chain that is one linear map. Traffic a voxel: writes 4 bytes and reads the moving image once,
/// through the caches.
template <int D>
TESSERA_CUDA_ONLY void resampleLinearly(Context&, const LatticeToResample<D>&, const IndexMap<D>& index,
                                        const RunShape&);

/// For a linear map and one cubic B-spline. Traffic a voxel: as resampleLinearly, and D 4^D coefficients from
/// shared memory.
template <int D>
TESSERA_CUDA_ONLY void resampleBySpline(Context&, const LatticeToResample<D>&, const IndexMap<D>& index,
                                        const SplineToResample<D>&, const RunShape&);

/// Computes the voxels that the kernels above have marked again, point by point in double precision.
template <int D>
TESSERA_CUDA_ONLY void resampleUnsureVoxels(Context&, const LatticeToResample<D>&);

/// Handles any chain, point by point in double precision.
template <int D>
TESSERA_CUDA_ONLY void resampleByPoints(Context&, const LatticeToResample<D>&);

}
