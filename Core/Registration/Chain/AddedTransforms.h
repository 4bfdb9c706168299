#pragma once

#include "Core/Registration/Chain/ParameterlessTransform.h"

namespace tessera {

/// A chain whose last transform is added (Combination::add) as one transform, so that it can follow others:
/// joinedChain makes it.
template <int D>
class AddedTransforms final : public ParameterlessTransform<D> {
public:
  explicit AddedTransforms(ChainPointer<D> chain) : chain_(std::move(chain)) {}

  std::string name() const override { return "AddedTransforms"; }
  void map(Context& context, const ListSamples<D>& samples, std::span<const double>,
           const PointsOut<D>& out) const override
  {
    mapChain<D>(context, *chain_, samples, out);
  }
  void spatialDerivatives(Context& context, const ListSamples<D>& samples, std::span<const double>,
                          double* jacobian, double* hessian) const override
  {
    chainSpatialDerivatives<D>(context, *chain_, samples, jacobian, hessian);
  }
  bool hasHessian() const override { return chainHasHessian<D>(*chain_); }

  const TransformChain<D>& chain() const { return *chain_; }

private:
  ChainPointer<D> chain_;
};

}
