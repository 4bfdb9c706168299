#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Registration/Fields/BSplineGrid.h"
#include "Core/Registration/Samples/Samples.h"

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace tessera {

/// Integrals of products of a uniform B-spline's basis functions along one axis of the grid. For control
/// point i, derivative p (0 to 2) and neighbour i + m (m from -3 to 3) it is the mean over an interval of
/// beta^(p)(x - i) beta^(p)(x - i - m) / spacing^2p.
struct BendingBands {
  static constexpr int neighbours = 7, perPoint = 3 * neighbours;
  int points = 0;
  int firstWhole = 0, lastWhole = -1; // control points whose support is in the interval; their rows are equal
  std::vector<double> values;         // [control point][p][m + 3]

  /// The interval [low, high] is in control points and within the valid region. If low = high, the values at
  /// that point are taken.
  static BendingBands over(double low, double high, int points, int order, double spacingMm);
  /// The mean over the positions first + n step, n < count. Positions outside of the valid region add
  /// nothing. There is no result if one lies so close to the border of that region that rounding decides on
  /// which side it is.
  static std::optional<BendingBands> at(double first, double step, std::size_t count, int points, int order,
                                        double spacingMm);
};

/// Bending energy of a B-spline transform in closed form: the mean over a box of sum_k |d^2 u_k / dx dx^T|^2
/// (Frobenius norm; 1/mm^2). It is a quadratic form c^T Q c of the coefficients (Shackleford et al.,
/// "Analytic regularization of uniform cubic B-spline deformation fields", 2012), and Q is a sum of products
/// of banded matrices, one for each axis.
///
/// Coefficients are the parameters of BSplineTransform: D * pointCount() values in mm.
template <int D>
class ExactBendingEnergy {
public:
  /// The energy over the box between the first and last voxel centres of `image`, as far as it lies in the
  /// grid's valid region. Throws Error(usage) for cyclic grids, orders below 2, directions that differ from
  /// those of the grid, and boxes outside of the grid.
  ExactBendingEnergy(const BSplineGrid<D>&, const ImageGeometry<D>& image);
  /// The energy over the whole valid region.
  explicit ExactBendingEnergy(const BSplineGrid<D>&);
  /// The mean over the voxels of a lattice, whose mask is ignored. It is the same quadratic form with sums in
  /// place of integrals. There is no result unless the grid is cubic, not cyclic and along the lattice's
  /// axes, and no voxel lies on its border.
  static std::optional<ExactBendingEnergy> overVoxels(const BSplineGrid<D>&, const VoxelLattice<D>&);

  /// Evaluates on the CPU: returns the value and, unless `gradient` is empty, overwrites it. Results have
  /// equal bits for any number of threads.
  double evaluate(Context&, std::span<const double> coefficients, std::span<double> gradient);
  /// The same on the context's CUDA device; calls must be on one stream.
  TESSERA_CUDA_ONLY void evaluateOnCuda(Context&, std::span<const double> coefficients,
                                        std::span<double> gradient, double* valueOnDevice);

  /// Takes the memory that evaluateOnCuda needs. evaluateOnCuda takes it if this was not called.
  void reserve(const Context&);

  const std::array<BendingBands, D>& bands() const { return bands_; }

private:
  ExactBendingEnergy() = default;
  void setBands(const BSplineGrid<D>&, const Vec<D>& low, const Vec<D>& high);

  std::size_t pointCount_ = 0;
  std::array<BendingBands, D> bands_;

  std::vector<double> orders_; // used on the CPU: [component][number of derivatives so far][control point]
  std::vector<double> sums_;

  Buffer<double> bandsOnCuda_, sumsOnCuda_;
  Buffer<unsigned> blocksDone_;
};

}
