#pragma once

#include "Components/Transforms/Shared/LandmarkSplines/ProjectedSystem.h"
#include "Components/Transforms/Shared/LandmarkSplines/SplineKernel.h"
#include "Core/Compute/Context.h"

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tessera {

/// All that determines a spline, except its moving landmarks.
template <int D>
struct SplineModel {
  SplineKernel kernel = SplineKernel::thinPlate;
  double poissonRatio = 0.3; // used by the elastic kernels
  double relaxation = 0;     // elastix's, 0 or more: 0 interpolates the landmarks
  std::vector<Vec<D>> landmarksMm;

  double alpha() const { return elasticAlpha(kernel, poissonRatio); }
  /// How many components of the displacements its system couples: D, or 1 if G is a multiple of I.
  std::size_t block() const { return D == 3 && hasOuterProduct(kernel) ? D : 1; }
  /// Whether the relaxation lets the spline approximate the landmarks. If not, it amplifies their errors.
  bool relaxationSmooths() const { return relaxation * kernelSign<D>(kernel) >= 0; }
  /// How many vectors a spline consists of: weights, columns of I + A, and b.
  std::size_t vectors() const { return landmarksMm.size() + D + 1; }
};

/// The vectors of SplineOfLandmarks for moving landmarks, point by point (Davis et al., "A physics-based
/// coordinate transformation for 3-D image matching", 1997). They solve
///
///   (K + relaxation I) w + P a = displacements of the landmarks,  P^T w = 0.
///
/// There is no result if the landmarks determine no spline, because some are equal or all lie on a line or
/// plane.
template <int D>
std::optional<std::vector<double>> splineVectors(const Context&, const SplineModel<D>&,
                                                 std::span<const double> movingLandmarksMm);

/// The vectors if the moving landmarks equal the fixed ones: zero weights, the identity, 0.
template <int D>
std::vector<double> identityVectors(const SplineModel<D>&);

/// d vectors / d moving landmarks, row-major: vectors() * block rows of landmarks * block numbers, the same
/// for all components if block is 1. There is no result if the landmarks determine no spline.
template <int D>
std::optional<std::vector<double>> splineInfluence(const Context&, const SplineModel<D>&);

/// Finds vectors for any moving landmarks of one model, without its influence matrix unless the relaxation
/// does not smooth.
template <int D>
class SplineSolver {
public:
  /// There is no result if the landmarks determine no spline.
  static std::optional<SplineSolver> of(const Context&, const SplineModel<D>&);

  /// vectors += those of the displacements of the landmarks, point by point.
  void addVectors(std::span<const double> displacementsMm, std::span<double> vectors) const;
  /// gradient += the derivatives of a value by the displacements, from those by the vectors: the adjoint.
  void addGradient(std::span<const double> byVectors, std::span<double> gradient) const;

private:
  SplineSolver(const SplineModel<D>&);

  SplineModel<D> model_;
  Vec<D> centerMm_{};
  double extentMm_ = 1;
  std::optional<ProjectedSystem> system_; // with its factor
  std::vector<double> influence_;         // in place of it
};

/// How the rows of landmarks are multiplied, so that their errors become equal and independent: by a number
/// each or, if errors have directions, by a matrix each. The matrices are inverses of Cholesky factors of the
/// errors' covariances.
template <int D>
struct RowFactors {
  std::vector<double> scales;      // none: 1
  std::vector<Matrix<D>> matrices; // none: the scales

  /// Components of displacements that the system couples.
  std::size_t block(const SplineModel<D>& model) const { return matrices.empty() ? model.block() : D; }
  Matrix<D> of(std::size_t landmark) const
  {
    if (!matrices.empty())
      return matrices[landmark];
    Matrix<D> diagonal{};
    for (std::size_t d = 0; d < D; ++d)
      diagonal[d][d] = scales.empty() ? 1 : scales[landmark];
    return diagonal;
  }
  /// The factors of every so many landmarks.
  RowFactors thinned(std::size_t step) const
  {
    RowFactors part;
    for (std::size_t i = 0; i < scales.size(); i += step)
      part.scales.push_back(scales[i]);
    for (std::size_t i = 0; i < matrices.size(); i += step)
      part.matrices.push_back(matrices[i]);
    return part;
  }
};

/// The equations of a spline without relaxation. There must be a landmark.
template <int D>
ProjectedSystem projectedSystem(const Context&, const SplineModel<D>&, const RowFactors<D>& = {});

/// Solves the dense system matrix * x = right for several right-hand sides, by elimination with partial
/// pivoting. `matrix` is count x count and `right` has a column for each right-hand side, both row-major;
/// `right` is replaced by x. Returns false if the matrix is singular up to rounding.
bool solveLinear(std::vector<double> matrix, std::size_t count, std::vector<double>& right,
                 std::size_t rightHandSides);

}
