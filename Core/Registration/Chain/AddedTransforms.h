#pragma once

#include "Core/Registration/Transform.h"

namespace tessera {

/// A chain whose last transform is added (Combination::add) as one transform without parameters, so that it
/// can follow others: joinedChain makes it. No file can name it.
template <int D>
class AddedTransforms final : public Transform<D>, public SpatialDerivatives<D> {
public:
  explicit AddedTransforms(std::shared_ptr<const TransformChain<D>> chain) : chain_(std::move(chain)) {}

  std::string name() const override { return "AddedTransforms"; }
  std::size_t parameterCount() const override { return 0; }
  void map(Context&, const Samples<D>&, std::span<const double> parameters,
           const PointsOut<D>&) const override;
  void spatialDerivatives(Context&, const Samples<D>&, std::span<const double> parameters, double* jacobian,
                          double* hessian) const override;
  /// Throws Error(usage), as the next two do.
  void pullBackSpatialDerivatives(Context&, const Samples<D>&, std::span<const double> parameters,
                                  const double* covJacobian, const double* covHessian,
                                  std::span<double> gradient) const override;
  bool hasHessian() const override { return chainHasHessian<D>(*chain_); }
  const SpatialDerivatives<D>* differentiable() const override { return this; }
  std::vector<FileEntry> fileEntries() const override;
  std::vector<double> restore(const Parameters&) override;

  const TransformChain<D>& chain() const { return *chain_; }

private:
  std::shared_ptr<const TransformChain<D>> chain_;
};

}
