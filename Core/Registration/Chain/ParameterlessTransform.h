#pragma once

#include "Core/Registration/Transform.h"

namespace tessera {

/// A transform without parameters of its own, with spatial derivatives. Programs make it; no file can name
/// it.
template <int D>
class ParameterlessTransform : public Transform<D>, public SpatialDerivatives<D> {
public:
  std::size_t parameterCount() const override { return 0; }
  const SpatialDerivatives<D>* differentiable() const override { return this; }

  /// These three throw Error(usage).
  void pullBackSpatialDerivatives(Context&, const Samples<D>&, std::span<const double> parameters,
                                  const double* covJacobian, const double* covHessian,
                                  std::span<double> gradient) const override;
  std::vector<FileEntry> fileEntries() const override;
  std::vector<double> restore(const Context&, const Parameters&) override;
};

}
