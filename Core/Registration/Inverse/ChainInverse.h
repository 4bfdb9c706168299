#pragma once

#include "Core/Registration/Inverse/ForwardCells.h"

#include <memory>

namespace tessera {

/// The result of a search, for a point y of the moving space, for a root: a point x of the fixed space with
/// T(x) = y.
enum class RootKind : unsigned char {
  regular,     // a root where T keeps the orientation of its linear part
  folded,      // only a root where T folds: det dT/dx is 0, or has the other sign than its linear part
  outside,     // no root: T jumps at the border of a transform's support, and y lies in the gap
  insideFolds, // no root: the search ended where dT/dx is singular
};

inline bool isRoot(RootKind kind)
{
  return kind == RootKind::regular || kind == RootKind::folded;
}

/// The inverse of a chain of transforms. Roots are found by Newton's method with the chain's analytic
/// Jacobian, whose steps are halved until the residual falls (damped Newton: Nocedal and Wright, Numerical
/// Optimization, section 11.2). Where that ends without a root, or at a root where T folds, the search begins
/// again in every cell of a lattice whose image under T may hold the point (ForwardCells). Of the roots that
/// it finds there, the one nearest to the start is taken, and a regular one before all folded ones.
///
/// Every search starts at the point that the linear part of T maps to y, so a root depends on y alone, and
/// not on the other points of its batch.
template <int D>
class ChainInverse {
public:
  struct Root {
    Vec<D> pointMm;    // x in the fixed space; NaN without a root
    double residualMm; // |T(x) - y|
    RootKind kind;
  };

  /// `region` is a lattice of the moving space that holds all points that will be asked for. A point counts
  /// as a root if |T(x) - y| is at most `toleranceMm`, or the rounding of double precision if that is more.
  /// Throws Error(usage) if the linear part of the chain has no inverse or a transform has no derivatives.
  ChainInverse(Context&, std::shared_ptr<const TransformChain<D>>, const ImageGeometry<D>& region,
               double toleranceMm);

  /// The roots of at most batchCapacity points, by the calling thread alone. Throws
  /// Error(unreadableInput) if T is no number at a finite point.
  void roots(Context&, const ListSamples<D>& pointsMm, Root* roots) const;

  const TransformChain<D>& chain() const { return *chain_; }

private:
  class Search;
  Root secondRoot(Context&, const Vec<D>& pointMm, const Root& first) const;

  std::shared_ptr<const TransformChain<D>> chain_;
  AffineMap<D> linear_, linearInverse_; // T without the transforms that are not linear
  double toleranceMm_;
  ForwardCells<D> cells_;
};

/// The chain as one linear map, with the identity in place of each transform that is not linear.
template <int D>
AffineMap<D> linearPart(const TransformChain<D>&);

/// The inverse of a linear map, in mm. Throws Error(usage) if it is singular.
template <int D>
AffineMap<D> inverseOfLinear(const AffineMap<D>&);

}
