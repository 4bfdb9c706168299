#pragma once

#include "Core/Registration/Chain/ParameterlessTransform.h"
#include "Core/Registration/Inverse/ChainInverse.h"
#include "Core/Registry/Registry.h"

#include <mutex>

namespace tessera {

/// How many points had which kind of root, and the largest |T(x) - y| of those with a root.
struct InverseCounts {
  std::size_t points = 0, folded = 0, outside = 0, insideFolds = 0;
  double largestResidualMm = 0;
  std::size_t searchedAgain = 0; // from cells, because the first search found no regular root

  std::size_t withoutRoot() const { return outside + insideFolds; }
  void add(const InverseCounts&);
};

/// The inverse of a chain as a transform: it maps points of the moving space to points of the fixed space.
/// Points without a root become NaN, which every interpolator takes as outside its image.
template <int D>
class InverseTransform final : public ParameterlessTransform<D> {
public:
  /// The parameters are those of ChainInverse.
  InverseTransform(ChainPointer<D> chain, const ImageGeometry<D>& region, double toleranceMm)
      : inverse_(std::move(chain), region, toleranceMm)
  {
  }

  std::string name() const override { return "InverseTransform"; }
  void map(Context&, const ListSamples<D>&, std::span<const double> parameters,
           const PointsOut<D>&) const override;
  /// The derivatives at the roots; NaN without a root.
  void spatialDerivatives(Context&, const ListSamples<D>&, std::span<const double> parameters,
                          double* jacobian, double* hessian) const override;
  bool hasHessian() const override { return chainHasHessian<D>(inverse_.chain()); }

  /// The chain whose inverse this is.
  const TransformChain<D>& inverted() const { return inverse_.chain(); }
  const ChainInverse<D>& roots() const { return inverse_; }
  /// Counts all points that were mapped since the last call.
  InverseCounts takeCounts() const;
  /// Adds the counts of points that were mapped on a CUDA device.
  void addCounts(const InverseCounts&) const;

private:
  std::vector<Root<D>> rootsOf(Context&, const ListSamples<D>&) const;

  ChainInverse<D> inverse_;
  mutable std::mutex mutex_; // guards counts_
  mutable InverseCounts counts_;
};

/// The inverse of a chain as a chain of one transform. A linear chain gives an affine transform of the
/// registry, in closed form; all others give an InverseTransform.
template <int D>
ChainPointer<D> inverseChain(ChainPointer<D>, const Registry&, const ImageGeometry<D>& region,
                             double toleranceMm);

/// The InverseTransform that is the whole chain; null if there are others, or none.
template <int D>
const InverseTransform<D>* asInverse(const TransformChain<D>&);

}
