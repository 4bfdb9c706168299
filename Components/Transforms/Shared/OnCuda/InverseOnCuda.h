#pragma once

#include "Components/Transforms/Shared/OnCuda/HeldChainOnCuda.h"
#include "Components/Transforms/Shared/OnCuda/InverseKernels.h"
#include "Core/Registration/Inverse/InverseTransform.h"

namespace tessera {

/// The roots of an InverseTransform for the voxels of a lattice, on a CUDA device, by the searches of
/// ChainInverse. The first search evaluates a SplineMap where the chain is one and its error is at most half
/// of the tolerance; all other searches are in double precision. The lattice of ForwardCells is mapped when
/// the first voxel needs it.
template <int D>
class InverseOnCuda {
public:
  /// Throws Error(device) if the kernels cannot evaluate the inverted chain.
  InverseOnCuda(Context&, const InverseTransform<D>&, const ImageGeometry<D>& lattice);

  /// Takes the memory for the roots of so many slices, as rootsMm() does where it is missing. On the context
  /// of a MemoryCount also the most that the lattice of ForwardCells may take.
  void reserve(const Context&, std::size_t slices);

  /// The roots of slices [first, first + count) of the lattice's last axis: D planar arrays of doubles on the
  /// device, mm, x fastest, NaN without a root. They stay until the next call, and a call for the same slices
  /// does not search again. Adds to the counts of the transform. Throws as ChainInverse::roots.
  const double* rootsMm(Context&, std::size_t first, std::size_t count);
  /// Enqueues the kernel that writes a quantity for the roots of the last call, voxel by voxel.
  void write(Context& context, RootQuantity quantity, float* values) const
  {
    writeRootsOnCuda<D>(context, toFind_, quantity, values);
  }

private:
  void holdSpline(Context&);
  void makeCells(Context&);

  const InverseTransform<D>& inverse_;
  HeldChainOnCuda<D> held_;
  RootsToFind<D> toFind_; // of the last call
  SplineMap<D> spline_;   // without coefficients if the chain takes its place
  double splineErrorMm_ = 0;
  Buffer<float> coefficients_;
  Buffer<double> rootsMm_;
  Buffer<unsigned> unsettled_;
  Buffer<RootsFound> found_;
  CellsOfImages<D> cells_; // without points before they are needed
  Buffer<Vec<D>> imagesMm_;
  Buffer<PointBox<D>> boxes_;
};

}
