#pragma once

#include "Core/Registration/Inverse/ForwardCells.h"
#include "Core/Registration/Inverse/RootSearch.h"

#include <mutex>

namespace tessera {

/// The inverse of a chain of transforms. Roots are found by RootSearch with the chain's analytic Jacobian.
/// Where that ends without a root, or at a root where T folds, the search begins again in every cell of a
/// lattice whose image under T may hold the point (ForwardCells). Of the roots that it finds there, the one
/// nearest to the start is taken, and a regular one before all folded ones.
///
/// Every search starts at the point that the linear part of T maps to y, so a root depends on y alone, and
/// not on the other points of its batch.
template <int D>
class ChainInverse {
public:
  /// `region` is a lattice of the moving space that holds all points that will be asked for. A point counts
  /// as a root if |T(x) - y| is at most `toleranceMm`, or the rounding of double precision if that is more.
  /// Throws Error(usage) if the linear part of the chain has no inverse.
  ChainInverse(ChainPointer<D> chain, const ImageGeometry<D>& region, double toleranceMm)
      : chain_(std::move(chain)), region_(region)
  {
    const AffineMap<D> linear = linearPart<D>(*chain_);
    rules_ = {inverseOfLinear<D>(linear), determinant(linear.matrix), toleranceMm};
  }

  /// The roots of at most batchCapacity points, by the calling thread alone. Returns how many of them were
  /// searched again. Throws Error(unreadableInput) if T is no number at a finite point, and Error(usage) if a
  /// transform has no derivatives.
  std::size_t roots(Context&, const ListSamples<D>& pointsMm, Root<D>* roots) const;
  /// Maps the lattice of ForwardCells by the context's threads, unless that was done. Without it, the first
  /// thread that needs the lattice maps it alone.
  const ForwardCells<D>& cells(Context& context) const
  {
    std::call_once(once_, [&] { cells_ = ForwardCells<D>(context, *chain_, rules_.linearInverse, region_); });
    return cells_;
  }

  const TransformChain<D>& chain() const { return *chain_; }
  const ImageGeometry<D>& region() const { return region_; }
  const RootRules<D>& rules() const { return rules_; }

private:
  class Searches;
  Root<D> secondRoot(Context&, const Vec<D>& pointMm, const Root<D>& first) const;

  ChainPointer<D> chain_;
  ImageGeometry<D> region_;
  RootRules<D> rules_;
  mutable std::once_flag once_; // for cells_
  mutable ForwardCells<D> cells_;
};

/// T was no number at a finite point: throws Error(unreadableInput).
[[noreturn]] void failWithoutNumber();

/// The chain as one linear map, with the identity in place of each transform that is not linear.
template <int D>
AffineMap<D> linearPart(const TransformChain<D>&);

/// The inverse of a linear map, in mm. Throws Error(usage) if it is singular.
template <int D>
AffineMap<D> inverseOfLinear(const AffineMap<D>&);

}
