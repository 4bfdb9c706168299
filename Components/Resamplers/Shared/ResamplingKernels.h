#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/CudaOnly.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"
#include "Core/Registration/Chain/TransformOnCuda.h"
#include "Core/Registration/Interpolation/Extrapolation.h"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.h"

#include <algorithm>

// Kernels that write the moving image at T(x) for the voxels x of a lattice. All arrays lie on the context's
// CUDA device.
//
// Indices of the moving image are in single precision, counted from the middle of a run of voxels: they are
// within LatticeToResample::margin of the CPU's. Where that leaves a choice open (inside or outside, which
// voxel is the nearest, where a grid of control points ends) a voxel is marked, and done again by the CPU's
// expressions in double precision, so that the choice is the CPU's.
namespace tessera {

/// Slices [firstSlice, endSlice) of the lattice's last axis; what is read of the moving image, and where from
/// if all goes by points.
template <int D>
struct LatticeToResample {
  std::array<int, D> size{};
  int firstSlice = 0, endSlice = 0;
  float* voxels = nullptr; // of those slices, x fastest
  AffineMap<D> pointFromIndex;
  ChainOnCuda<D> chain;
  InterpolatorOnCuda<D> image;
  std::array<unsigned, D> innerCells{}; // by their first knot, those all of whose knots lie in the image
  bool hasPlainValues =
      false; // no labels, no mask, more than the order's voxels an axis: indices are all that decides
  bool hasAllSlices = true;         // of the image, on the device
  std::array<unsigned, D> steps{};  // voxels to the next one along an axis of the image
  unsigned stepsOfWholeNumbers = 0; // what bitsOfWholeNumbers on each axis come to, modulo 2^32
  int voxelsAhead = 0; // to where a run of resampleByTiles reads the image numbersAhead voxels later, about;
                       // 0: it does not ask
  AffineMap<D> pointFromImageIndex;
  MaskOnCuda<D> valid;
  bool validHasImagesGrid = false;
  Extrapolation extrapolation = Extrapolation::constant;
  float outside = 0; // value of voxels that are mapped outside the moving image
  float margin = 0;  // voxels of the moving image by which indices may be off
  float plainDepth =
      0; // voxels behind the first and before the last inner cell from where on plain values are right
  unsigned* unsure =
      nullptr; // a bit a voxel, zero before: what resampleUnsureVoxels has to do; unused by resampleByPoints
};

/// Voxels of a run after which what is asked for has come to the device's second-level cache.
constexpr int numbersAhead = 6;

template <int D>
std::size_t wordsOfMarks(const LatticeToResample<D>& r)
{
  std::size_t voxels = static_cast<std::size_t>(r.endSlice - r.firstSlice);
  for (int d = 0; d + 1 < D; ++d)
    voxels *= static_cast<std::size_t>(r.size[d]);
  return (voxels + 127) / 128 * 4; // whole vectors of four
}

/// Index as a function of a lattice's voxel.
template <int D>
struct IndexMap {
  double matrix[D][D], offset[D]; // column e: along lattice axis e
  float step[D][D];               // the matrix
  float reach[D];                 // more than an index of a run's voxels is from that of its middle
};

constexpr int warpsOfBlock = 4,
              warpsOfSplineBlock = 8; // the latter share what resampleBySpline brings to shared memory

/// The voxels of a warp: 2^bitsOfLanesX along x, as many rows of lanes as that leaves, and 2^bitsOfVoxels
/// along the lattice's last axis (in 2D a lane's are as many rows apart as there are rows of lanes). The
/// `warps` of a block are neighbours along y.
struct RunShape {
  int bitsOfLanesX = 5, bitsOfVoxels = 5, warps = warpsOfBlock;

  constexpr int voxelsALane() const { return 1 << bitsOfVoxels; }
};

/// What a B-spline along the lattice's axes needs of one voxel of an axis: see AxisSupport.
struct alignas(16) SplineVoxel {
  float weights[4]; // zeros outside the valid region; along x, where CubicPath wants that, a sixth of them
  int first;        // control point
  int end;          // the next voxel that has another one, or lies inside where this one does not
  float past;       // voxels from where the cell between two control points begins
  int inside;
};

/// The displacement of one control point, and zeros.
struct alignas(16) SplinePoint {
  float mm[4];
};

/// Displacements of a cubic B-spline of control points as they enter the moving image's index.
template <int D>
struct SplineToResample {
  IndexMap<D> gridIndex;                  // of the first control point that carries a voxel
  float gridMargin = 0;                   // control points by which that may be off
  std::array<int, D> points{};            // control points an axis
  float indexFromDisplacement[D][D] = {}; // of the moving image, per mm
  // for resampleByTiles:
  const SplinePoint* displacements = nullptr; // x fastest
  std::array<const SplineVoxel*, D> voxels{}; // along each axis of the lattice
  std::array<int, 2> mostPoints{};            // control points along x and the last axis that a run needs
  float powersOfStep[3] = {}; // of cells from slice to slice: three times, three times the square, the cube
  // for resampleBySpline:
  const float* coefficients = nullptr; // mm, planar, x fastest
  double reachOfBlock[D] = {};  // more than a grid index of a block's voxels is from that of its middle
  std::size_t bytesOfBlock = 0; // of shared memory
};

/// Bytes of shared memory that resampleByTiles takes for a warp: lines of control points, and in their place
/// what the lanes' weights along x make of each.
template <int D>
std::size_t bytesOfTile(const SplineToResample<D>& s)
{
  const std::size_t line = std::max<std::size_t>(16 * s.mostPoints[0], 32 * D * sizeof(float));
  return line * s.mostPoints[1];
}

/// By one linear map. Bytes a voxel: writes 4 and, from the caches, reads the moving image once.
template <int D>
TESSERA_CUDA_ONLY void resampleLinearly(Context&, const LatticeToResample<D>&, const IndexMap<D>& index,
                                        const RunShape&);

/// The same bits for linear interpolation in 3D, in runs of 32 slices, by planes of the image that a copy
/// engine brings to shared memory ahead of the voxels. False, and nothing done, where the device has none or
/// the image, or the map, is not for it.
bool resampleByPlanes(Context&, const LatticeToResample<3>&, const IndexMap<3>& index, const RunShape&);

/// By a linear map and a B-spline that is evaluated along the axes of its grid, which are the lattice's; any
/// spacing of at least one voxel. Bytes a voxel: the same.
template <int D>
TESSERA_CUDA_ONLY void resampleByTiles(Context&, const LatticeToResample<D>&, const IndexMap<D>& index,
                                       const SplineToResample<D>&, const RunShape&);

/// The same wherever the grid lies: D 4^D coefficients a voxel are read from shared memory.
template <int D>
TESSERA_CUDA_ONLY void resampleBySpline(Context&, const LatticeToResample<D>&, const IndexMap<D>& index,
                                        const SplineToResample<D>&, const RunShape&);

/// After the others: voxels that they have marked, by points.
template <int D>
TESSERA_CUDA_ONLY void resampleUnsureVoxels(Context&, const LatticeToResample<D>&);

/// By any chain, in double precision.
template <int D>
TESSERA_CUDA_ONLY void resampleByPoints(Context&, const LatticeToResample<D>&);

}
