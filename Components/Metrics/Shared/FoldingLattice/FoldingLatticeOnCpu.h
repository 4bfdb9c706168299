#pragma once

#include "Components/Metrics/Shared/FoldingLattice/FoldingLattice.h"
#include "Core/Registration/Samples/StripePlan.h"

#include <vector>

namespace tessera {

/// TransformFoldingPenalty on a FoldingLattice, on the CPU.
template <int D>
class FoldingLatticeOnCpu {
public:
  /// Evaluates the mask and the transforms before the last one at all voxels. They take 1 byte a voxel and,
  /// if these transforms are not linear, 4 D^2.
  FoldingLatticeOnCpu(const Context&, const FoldingLattice<D>&, const TransformChain<D>&, double tolerated);

  /// Overwrites `gradient` unless it is empty.
  TermValue evaluate(const Context&, std::span<const double> parameters, std::span<double> gradient);

  /// The weights of one axis at each of its voxels, and their derivatives by the grid's index.
  struct Axis {
    explicit Axis(const FieldAxis&);

    int points = 1;
    std::vector<int> starts;
    std::vector<std::array<double, 4>> weights, slopes; // zeros outside the grid's valid region
  };

private:
  struct Slices;

  FoldingLattice<D> of_;
  double tolerated_;
  std::vector<Axis> axes_;
  std::vector<std::uint8_t> asked_; // one a voxel; empty: all
  std::vector<float> before_;       // D x D a voxel; empty if it is constant
  StripedGradient stripedGradient_; // kept only to avoid new allocations
};

}
