#pragma once

#include "Core/Compute/Math/VectorLength.h"

#include <cmath>
#include <limits>

// The search for one root of T(x) = y, for the CPU and for kernels.
namespace tessera {

/// The result of a search, for a point y of the moving space, for a root: a point x of the fixed space with
/// T(x) = y.
enum class RootKind : unsigned char {
  regular,     // a root where T keeps the orientation of its linear part
  folded,      // only a root where T folds: det dT/dx is 0, or has the other sign than its linear part
  outside,     // no root: T jumps at the border of a transform's support, and y lies in the gap
  insideFolds, // no root: the search ended where dT/dx is singular
};

TESSERA_HOST_DEVICE inline bool isRoot(RootKind kind)
{
  return kind == RootKind::regular || kind == RootKind::folded;
}

template <int D>
struct Root {
  Vec<D> pointMm;    // x in the fixed space; NaN without a root
  double residualMm; // |T(x) - y|
  RootKind kind;
};

/// A quantity that is computed from roots: the displacement root - y (D values a voxel), or the determinant
/// (1) or the matrix (D * D) of its derivative by y.
enum class RootQuantity { displacements, determinants, matrices };

template <int D>
constexpr int componentsOf(RootQuantity quantity)
{
  return quantity == RootQuantity::displacements ? D : quantity == RootQuantity::determinants ? 1 : D * D;
}

/// The rules that all searches for roots of one T share.
template <int D>
struct RootRules {
  AffineMap<D> linearInverse;   // the inverse of the linear part of T
  double linearDeterminant = 1; // of the linear part's matrix
  double toleranceMm = 0;       // |T(x) - y| of a root, or the rounding of double precision if that is more
};

// The second number if the first one is NaN. The functions of the library are calls on the CPU.
TESSERA_HOST_DEVICE inline double larger(double a, double b)
{
  return a > b ? a : b;
}
TESSERA_HOST_DEVICE inline double smaller(double a, double b)
{
  return a < b ? a : b;
}

template <int D>
TESSERA_HOST_DEVICE bool isFinite(const Vec<D>& v)
{
  bool finite = true;
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d)
    finite = finite && std::isfinite(v[d]);
  return finite;
}

/// The determinant, with the roundings of determinant(m), and the inverse times the determinant.
template <int D>
TESSERA_HOST_DEVICE double determinantAndAdjugate(const Matrix<D>& m, Matrix<D>& adjugate)
{
  if constexpr (D == 2) {
    adjugate[0][0] = m[1][1];
    adjugate[0][1] = -m[0][1];
    adjugate[1][0] = -m[1][0];
    adjugate[1][1] = m[0][0];
    return m[0][0] * m[1][1] - m[0][1] * m[1][0];
  } else if constexpr (D == 4) {
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        adjugate[i][j] = ((i + j) % 2 ? -1 : 1) * determinant(minorOf<4>(m, j, i));
    return determinant(m);
  } else {
    TESSERA_UNROLL
    for (int i = 0; i < 3; ++i) {
      TESSERA_UNROLL
      for (int j = 0; j < 3; ++j) {
        const int a = (j + 1) % 3, b = (j + 2) % 3, c = (i + 1) % 3, d = (i + 2) % 3;
        adjugate[i][j] = m[a][c] * m[b][d] - m[a][d] * m[b][c];
      }
    }
    return m[0][0] * adjugate[0][0] + m[0][1] * adjugate[1][0] + m[0][2] * adjugate[2][0];
  }
}

/// The inverse of a matrix, which must not be singular, with the roundings of inverse(m).
template <int D>
TESSERA_HOST_DEVICE Matrix<D> inverseMatrix(const Matrix<D>& m)
{
  Matrix<D> result;
  const double f = 1 / determinantAndAdjugate<D>(m, result);
  TESSERA_UNROLL
  for (int i = 0; i < D; ++i) {
    TESSERA_UNROLL
    for (int j = 0; j < D; ++j)
      result[i][j] *= f;
  }
  return result;
}

/// Newton's method for one point y, with halved steps (damped Newton: Nocedal and Wright, Numerical
/// Optimization, section 11.2). It asks for T or its Jacobian at a point, until it asks for nothing; then it
/// has the root.
template <int D>
class RootSearch {
public:
  enum class Asks : unsigned char { image, jacobian, nothing };

  TESSERA_HOST_DEVICE RootSearch(const Vec<D>& pointMm, const Vec<D>& startMm)
      : pointMm_(pointMm), trialMm_(startMm)
  {
  }

  TESSERA_HOST_DEVICE Asks asks() const { return asks_; }
  /// The point at which T (image) or its Jacobian is asked for.
  TESSERA_HOST_DEVICE Vec<D> atMm() const
  {
    Vec<D> mm;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      mm[d] = asks_ == Asks::image ? trialMm_[d] : placeMm_[d];
    return mm;
  }
  /// Whether the Jacobian is asked for at the point of the last image.
  TESSERA_HOST_DEVICE bool asksAtLastImage() const { return halvings_ == 0; }
  /// Whether T was no number at a finite point.
  TESSERA_HOST_DEVICE bool isBroken() const { return isBroken_; }

  /// Takes the trial if it is nearer to a root; else tries half of the step.
  TESSERA_HOST_DEVICE void giveImage(const RootRules<D>& rules, const Vec<D>& imageMm)
  {
    Vec<D> residualMm;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      residualMm[d] = imageMm[d] - pointMm_[d];
    const double lengthMm = lengthOf<D>(residualMm);
    if (!std::isfinite(lengthMm))
      isBroken_ = isBroken_ || (isFinite<D>(pointMm_) && isFinite<D>(trialMm_));
    if (lengthMm < lengthMm_) {
      const double ratio = lengthMm / lengthMm_; // 0 at the start
      placeMm_ = trialMm_;
      residualMm_ = residualMm;
      lengthMm_ = lengthMm;
      halvings_ = 0;
      const double enoughMm = enough(rules);
      isRoot_ = lengthMm <= enoughMm;
      if (isRoot_ ? share_ > safeShare : steps_ == maxSteps)
        asks_ = Asks::nothing;
      else if (!isRoot_ && steps_ > 0 && lengthMm * ratio <= enoughMm)
        step(); // the same Jacobian will do for the last step
      else
        asks_ = Asks::jacobian;
      return;
    }
    if (++halvings_ > maxHalvings) {
      asks_ = Asks::jacobian; // for the determinant where the search ended
      return;
    }
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      trialMm_[d] = placeMm_[d] + std::ldexp(stepMm_[d], -halvings_);
  }

  /// Takes the next step, or ends.
  TESSERA_HOST_DEVICE void giveJacobian(const RootRules<D>& rules, const Matrix<D>& jacobian)
  {
    const double determinant = determinantAndAdjugate<D>(jacobian, slope_);
    share_ = determinant / rules.linearDeterminant;
    if (isRoot_ || halvings_ > maxHalvings) {
      asks_ = Asks::nothing;
      return;
    }
    if (share_ > singularShare) {
      const double f = 1 / determinant;
      TESSERA_UNROLL
      for (int i = 0; i < D; ++i) {
        TESSERA_UNROLL
        for (int j = 0; j < D; ++j)
          slope_[i][j] *= f;
      }
    } else {
      slope_ = rules.linearInverse.matrix;
    }
    step();
  }

  /// The result, once nothing is asked for.
  TESSERA_HOST_DEVICE Root<D> root() const
  {
    Root<D> root{placeMm_, lengthMm_, RootKind::regular};
    if (isRoot_) {
      root.kind = share_ > 0 ? RootKind::regular : RootKind::folded;
      return root;
    }
    root.kind = share_ > singularShare ? RootKind::outside : RootKind::insideFolds;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      root.pointMm[d] = std::numeric_limits<double>::quiet_NaN();
    return root;
  }

private:
  static constexpr int maxSteps = 30, maxHalvings = 8;
  /// Below this share of the linear part's determinant a Jacobian counts as singular: the linear part's takes
  /// its place.
  static constexpr double singularShare = 1e-3;
  /// Above this share, a step before the root, the determinant at the root is taken to be above 0.
  static constexpr double safeShare = 0.5;
  /// T is evaluated with some hundred roundings of coordinates.
  static constexpr double roundingOfCoordinates = 1e-13;

  TESSERA_HOST_DEVICE double enough(const RootRules<D>& rules) const
  {
    double largestMm = 0;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      largestMm = larger(largestMm, larger(std::fabs(pointMm_[d]), std::fabs(placeMm_[d])));
    return larger(rules.toleranceMm, roundingOfCoordinates * largestMm);
  }

  TESSERA_HOST_DEVICE void step()
  {
    const Vec<D> step = apply<D>(slope_, residualMm_);
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      stepMm_[d] = -step[d];
      trialMm_[d] = placeMm_[d] - step[d];
    }
    ++steps_;
    asks_ = Asks::image;
  }

  Vec<D> pointMm_, trialMm_;
  Matrix<D> slope_{};                                         // inverse of the Jacobian that gives the steps
  Vec<D> placeMm_{}, residualMm_{}, stepMm_{};                // of the last point that was taken
  double lengthMm_ = std::numeric_limits<double>::infinity(); // of the residual
  double share_ = -std::numeric_limits<double>::infinity();   // of the Jacobian's determinant before it
  int steps_ = 0, halvings_ = 0;
  Asks asks_ = Asks::image;
  bool isRoot_ = false, isBroken_ = false;
};

/// Whether `found`, the result of a search from another start, takes the place of `best`: a root instead of
/// none, a regular one instead of a folded one, and then the one nearer to `startMm`.
template <int D>
TESSERA_HOST_DEVICE bool isBetterRoot(const Root<D>& found, const Root<D>& best, const Vec<D>& startMm)
{
  if (!isRoot(found.kind))
    return best.kind == RootKind::outside && found.kind == RootKind::insideFolds;
  if (found.kind != best.kind)
    return found.kind < best.kind;
  Vec<D> ofFound, ofBest;
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d) {
    ofFound[d] = found.pointMm[d] - startMm[d];
    ofBest[d] = best.pointMm[d] - startMm[d];
  }
  return lengthOf<D>(ofFound) < lengthOf<D>(ofBest);
}

}
