#pragma once

#include "Components/Metrics/Shared/FoldingLattice/FoldingLattice.h"
#include "Components/Metrics/Shared/FoldingLattice/FoldingLatticeKernels.h"
#include "Core/Compute/Memory/Buffer.h"

namespace tessera {

/// TransformFoldingPenalty on a FoldingLattice, on a CUDA device. It takes 32 MiB or what two slices need,
/// and 4 D^2 bytes a voxel if the transforms before the last one are not linear.
template <int D>
class FoldingLatticeOnCuda {
public:
  /// Returns what foldingLattice does, and nothing if the device goes through the level in slabs, because its
  /// memory is short then, or if the lines of a row do not fit into shared memory.
  static std::optional<FoldingLattice<D>> latticeOf(const VoxelLattice<D>&, const TermLevel<D>&);

  /// Takes the memory.
  FoldingLatticeOnCuda(const Context&, const FoldingLattice<D>&, double tolerated);

  /// The chain ends in the B-spline, `before` is the rest of it. The result must be zero, and `gradient`, on
  /// the device, is overwritten unless it is empty.
  void enqueue(Context&, const SamplesOnCuda<D>&, const ChainOnCuda<D>& chain, const ChainOnCuda<D>& before,
               double* scratch, std::span<double> gradient, JetSums<D>* result);

private:
  FoldingLattice<D> of_;
  FoldingLatticeOnDevice<D> onDevice_;
  int slicesAtOnce_;
  bool hasBefore_ = false;
  Buffer<double> planes_, lines_;
  Buffer<float> before_;
};

}
