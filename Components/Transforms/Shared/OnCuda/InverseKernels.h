#pragma once

#include "Components/Transforms/Shared/OnCuda/SplineMap.h"
#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.h"
#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Registration/Inverse/CellsOfImages.h"
#include "Core/Registration/Inverse/RootSearch.h"

// The kernels of InverseOnCuda. All arrays lie on the context's CUDA device.
namespace tessera {

/// Counts of a launch: how its searches for roots ended.
struct RootsFound {
  unsigned long long unsettled = 0;    // voxels whose first search ended without a regular root
  unsigned long long ofKind[4] = {};   // by RootKind, of the voxels that were searched again
  unsigned long long broken = 0;       // voxels at which T was no number
  unsigned long long residualBits = 0; // of the largest |T(x) - y| of a root, mm
};

/// Slices [firstSlice, endSlice) of a lattice of the moving space, and the search for the roots of its
/// voxels.
template <int D>
struct RootsToFind {
  std::array<int, D> size{};
  int firstSlice = 0, endSlice = 0;
  AffineMap<D> pointFromIndex;
  RootRules<D> rules;
  ChainOnCuda<D> chain;
  double* rootsMm = nullptr;     // D planar arrays of the voxels of the slices, x fastest; NaN without a root
  unsigned* unsettled = nullptr; // the voxels of RootsFound::unsettled, in any order
  RootsFound* found = nullptr;

  TESSERA_HOST_DEVICE unsigned voxelCount() const
  {
    unsigned count = static_cast<unsigned>(endSlice - firstSlice);
    for (int d = 0; d + 1 < D; ++d)
      count *= static_cast<unsigned>(size[d]);
    return count;
  }
};

/// Searches from the point that the linear part of T maps to each voxel. Traffic: writes 8 D bytes a voxel.
template <int D>
TESSERA_CUDA_ONLY void findRootsOnCuda(Context&, const RootsToFind<D>&);
/// Searches in the same way, with the chain evaluated as a SplineMap.
template <int D>
TESSERA_CUDA_ONLY void findRootsBySplineOnCuda(Context&, const RootsToFind<D>&, const SplineMap<D>&);

/// Searches again for the first `count` voxels of the list, also from the cells that may hold them.
template <int D>
TESSERA_CUDA_ONLY void findSecondRootsOnCuda(Context&, const RootsToFind<D>&, const CellsOfImages<D>&,
                                             std::size_t count);

/// The points of a lattice in the moving space that the inverse of the linear part takes to the fixed space.
template <int D>
struct LatticeToMap {
  std::array<int, D> size{};
  AffineMap<D> pointFromIndex, linearInverse;
  ChainOnCuda<D> chain;
};

/// Writes T at the points to `imagesMm`, unless it is null, and raises `largestBits` to the bits of the
/// largest difference, in mm along an axis, of T from its linear part.
template <int D>
TESSERA_CUDA_ONLY void mapLatticeOnCuda(Context&, const LatticeToMap<D>&, Vec<D>* imagesMm,
                                        unsigned long long* largestBits);

/// Writes the boxes around the cells of each block.
template <int D>
TESSERA_CUDA_ONLY void boxBlocksOnCuda(Context&, const CellsOfImages<D>&, PointBox<D>* boxes);

/// Writes the quantity for the roots found, voxel by voxel; NaN without a root.
template <int D>
TESSERA_CUDA_ONLY void writeRootsOnCuda(Context&, const RootsToFind<D>&, RootQuantity, float* values);

}
