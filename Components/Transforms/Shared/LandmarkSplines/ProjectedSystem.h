#pragma once

#include "Core/Compute/Memory/Buffer.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace tessera {

/// The equations of a spline, (K + sign smoothing I) w + P a = d and P^T w = 0, on the subspace P^T w = 0,
/// where sign K is positive definite. With an orthonormal basis Z of that subspace w = Z v, and
///
///   (sign Z^T K Z + smoothing I) v = sign Z^T d,
///
/// which a Cholesky factorization solves (Wahba, "Spline models for observational data", 1990, section 1.3).
/// Matrices are row-major. All has the same bits for any number of threads. A system that is made on a CUDA
/// device stays there, and is solved there whatever context is given.
class ProjectedSystem {
public:
  /// `kernel` is K, rows x rows, and `basis` is P, rows x unknowns.
  ProjectedSystem(const Context&, std::vector<double> kernel, const std::vector<double>& basis,
                  std::size_t unknowns, double sign);
  /// `kernel` is K as above, on the context's CUDA device.
  ProjectedSystem(const Context&, Buffer<double> kernel, const std::vector<double>& basis,
                  std::size_t unknowns, double sign);
  /// Bytes of the device that such a system takes with its factor, K included.
  static double deviceBytes(std::size_t rows)
  {
    return 3.0 * sizeof(double) * static_cast<double>(rows * rows);
  }

  std::size_t rows() const { return rows_; }
  /// False if the columns of the basis are not independent: all landmarks lie on a line or plane, up to 1e-6
  /// of their extent. Nothing else may be called then.
  bool isDetermined() const { return isDetermined_; }
  /// The mean of the diagonal of sign Z^T K Z.
  double meanDiagonal() const;

  /// Prepares solve() for this smoothing, 0 or more. Returns false if the matrix is singular up to rounding.
  bool factor(const Context&, double smoothing);
  /// Replaces d (rows x rightHandSides) by w, and returns a (unknowns x rightHandSides).
  std::vector<double> solve(const Context&, std::vector<double>& right, std::size_t rightHandSides) const;
  /// Back-propagation through solve(): from the derivatives of a scalar by w (`right`, rows x rightHandSides)
  /// and by a (`affine`), replaces `right` by its derivatives by d.
  void solveTransposed(const Context&, std::vector<double>& right, std::vector<double> affine,
                       std::size_t rightHandSides) const;
  /// Frees what factor() and crossValidation() need. Only the solvers may be called then.
  void keepFactor();
  /// The generalised cross-validation of the smoothing of the last factor() for d: with the residuals r and
  /// the matrix I - A that d is multiplied by to get them, rows |r|^2 / trace(I - A)^2 (Wahba,
  /// equation 4.3.1). The trace is exact for at most 256 rows, else estimated by 64 vectors of random signs
  /// (Hutchinson 1990).
  double crossValidation(const Context&, const std::vector<double>& right, std::size_t rightHandSides) const;

private:
  struct OnCuda;

  ProjectedSystem(const std::vector<double>& basis, std::size_t unknowns, double sign);
  std::vector<double> coupledReflectors() const;
  void completeProducts(const std::vector<double>& u, std::vector<double>& y) const;
  void solveByFactor(const Context&, std::vector<double>& right, std::size_t rightHandSides,
                     bool bothFactors) const;
  void reflect(std::vector<double>& right, std::size_t rightHandSides, bool transposed) const;

  std::size_t rows_, unknowns_, free_ = 0;
  double sign_, smoothing_ = 0;
  bool isDetermined_ = true;
  // Q = I - V T V^T turns P into an upper triangle R over zeros; the last columns of Q are Z.
  std::vector<double> reflectors_; // V, unknowns x rows
  std::vector<double> coupling_;   // T, unknowns x unknowns
  std::vector<double> triangle_;   // R, unknowns x unknowns
  std::vector<double> border_;     // the lower left part of Q^T K Q, free x unknowns
  std::vector<double> matrix_;     // the lower triangle of sign Z^T K Z, free x free
  std::vector<double> factor_;
  std::shared_ptr<OnCuda> onCuda_; // not null: it has matrix and factor
};

}
