#pragma once

#include "Components/Transforms/Shared/BSplineGrid.h"
#include "Core/Compute/Buffer.h"
#include "Core/Compute/CudaOnly.h"
#include "Core/Registration/Samples/Samples.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace tessera {

/// Integrals of products of a uniform B-spline's basis functions along an axis of the grid, over an interval:
/// for control point i, derivative p (0 to 2) and neighbour i + m (m from -3 to 3) the mean of beta^(p)(x -
/// i) beta^(p)(x - i - m) / spacing^2p.
struct BendingBands {
  static constexpr int neighbours = 7, perPoint = 3 * neighbours;
  int points = 0;
  int firstWhole = 0, lastWhole = -1; // control points whose support is in the interval: equal rows
  std::vector<double> values;         // [control point][p][m + 3]

  /// The interval [low, high] is in control points and within the valid region; if it is a point, values
  /// there.
  static BendingBands over(double low, double high, int points, int order, double spacingMm);
  /// The mean over positions first + n step, n below count, of which those outside of the valid region add
  /// nothing. Nothing if one lies so close to that region's border that rounding decides.
  static std::optional<BendingBands> at(double first, double step, std::size_t count, int points, int order,
                                        double spacingMm);
};

/// Bending energy of a B-spline transform in closed form: the mean over a box of sum_k |d^2 u_k / dx dx^T|^2
/// (Frobenius; 1/mm^2), a quadratic form c^T Q c of the coefficients (Shackleford et al., "Analytic
/// regularization of uniform cubic B-spline deformation fields", 2012). Q is a sum of products of banded
/// matrices, one an axis.
///
/// Coefficients as the parameters of BSplineTransform: D * pointCount() values in mm.
template <int D>
class ExactBendingEnergy {
public:
  /// Over the box between the first and last voxel centres of `image`, as far as it lies in the grid's valid
  /// region. Throws Error(usage) for cyclic grids, orders below 2, directions that are not the grid's, and
  /// boxes outside of the grid.
  ExactBendingEnergy(const BSplineGrid<D>&, const ImageGeometry<D>& image);
  /// Over the whole valid region.
  explicit ExactBendingEnergy(const BSplineGrid<D>&);
  /// The mean over the voxels of a lattice (its mask is not asked), which the same quadratic form gives with
  /// sums for integrals. Nothing unless the grid is cubic, not cyclic and along the lattice's axes, and no
  /// voxel lies on its border.
  static std::optional<ExactBendingEnergy> overVoxels(const BSplineGrid<D>&, const VoxelLattice<D>&);

  /// On the CPU: the value and, unless empty, its gradient (overwritten). Equal bits for any thread count.
  double evaluate(Context&, std::span<const double> coefficients, std::span<double> gradient);
  /// The same on the context's CUDA device, one after the other on one stream.
  TESSERA_CUDA_ONLY void evaluateOnCuda(Context&, std::span<const double> coefficients,
                                        std::span<double> gradient, double* valueOnDevice);

  /// What that takes of the device.
  static double deviceBytes(const BSplineGrid<D>&);

  const std::array<BendingBands, D>& bands() const { return bands_; }

private:
  ExactBendingEnergy() = default;
  void setBands(const BSplineGrid<D>&, const Vec<D>& low, const Vec<D>& high);

  std::size_t pointCount_ = 0;
  std::array<BendingBands, D> bands_;

  std::vector<double> orders_; // on the CPU: [component][derivatives so far][control point]
  std::vector<double> sums_;

  Buffer<double> bandsOnCuda_, sumsOnCuda_;
  Buffer<unsigned> blocksDone_;
};

}
