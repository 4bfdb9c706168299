#pragma once

#include "Core/Registration/Chain/ParameterlessTransform.h"

namespace tessera {

/// A chain whose last transform is added (Combination::add) as one transform, so that it can follow others:
/// joinedChain makes it.
template <int D>
class AddedTransforms final : public ParameterlessTransform<D> {
public:
  explicit AddedTransforms(std::shared_ptr<const TransformChain<D>> chain) : chain_(std::move(chain)) {}

  std::string name() const override { return "AddedTransforms"; }
  void map(Context&, const Samples<D>&, std::span<const double> parameters,
           const PointsOut<D>&) const override;
  void spatialDerivatives(Context&, const Samples<D>&, std::span<const double> parameters, double* jacobian,
                          double* hessian) const override;
  bool hasHessian() const override { return chainHasHessian<D>(*chain_); }

  const TransformChain<D>& chain() const { return *chain_; }

private:
  std::shared_ptr<const TransformChain<D>> chain_;
};

}
