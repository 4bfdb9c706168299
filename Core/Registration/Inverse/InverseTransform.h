#pragma once

#include "Core/Registration/Inverse/ChainInverse.h"
#include "Core/Registry/Registry.h"

#include <mutex>

namespace tessera {

/// How many points had which kind of root, and the largest |T(x) - y| of those with a root.
struct InverseCounts {
  std::size_t points = 0, folded = 0, outside = 0, insideFolds = 0;
  double largestResidualMm = 0;

  std::size_t withoutRoot() const { return outside + insideFolds; }
};

/// The inverse of a chain as a transform without parameters: it maps points of the moving space to points of
/// the fixed space. Points without a root become NaN, which every interpolator takes as outside its image.
/// Programs make it; no file can name it.
template <int D>
class InverseTransform final : public Transform<D>, public SpatialDerivatives<D> {
public:
  /// The parameters are those of ChainInverse.
  InverseTransform(Context&, std::shared_ptr<const TransformChain<D>>, const ImageGeometry<D>& region,
                   double toleranceMm);

  std::string name() const override { return "InverseTransform"; }
  std::size_t parameterCount() const override { return 0; }
  void map(Context&, const Samples<D>&, std::span<const double> parameters,
           const PointsOut<D>&) const override;
  /// The inverse of dT/dx at the roots; NaN without a root. Throws Error(usage) if second derivatives are
  /// asked for.
  void spatialDerivatives(Context&, const Samples<D>&, std::span<const double> parameters, double* jacobian,
                          double* hessian) const override;
  void pullBackSpatialDerivatives(Context&, const Samples<D>&, std::span<const double> parameters,
                                  const double* covJacobian, const double* covHessian,
                                  std::span<double> gradient) const override;
  bool hasHessian() const override { return true; }
  const SpatialDerivatives<D>* differentiable() const override { return this; }

  /// These two throw Error(usage).
  std::vector<FileEntry> fileEntries() const override;
  std::vector<double> restore(const Parameters&) override;

  /// The chain whose inverse this is.
  const TransformChain<D>& inverted() const { return inverse_.chain(); }
  /// Counts all points that were mapped since the last call.
  InverseCounts takeCounts() const;

private:
  using Root = typename ChainInverse<D>::Root;
  std::vector<Root> rootsOf(Context&, const ListSamples<D>&) const;

  ChainInverse<D> inverse_;
  mutable std::mutex mutex_; // guards counts_
  mutable InverseCounts counts_;
};

/// The inverse of a chain as a chain of one transform. A linear chain gives an affine transform of the
/// registry, in closed form; all others give an InverseTransform.
template <int D>
std::shared_ptr<const TransformChain<D>> inverseChain(Context&, std::shared_ptr<const TransformChain<D>>,
                                                      const Registry&, const ImageGeometry<D>& region,
                                                      double toleranceMm);

}
