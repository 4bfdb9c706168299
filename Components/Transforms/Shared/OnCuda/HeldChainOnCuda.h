#pragma once

#include "Components/Transforms/Shared/OnCuda/KernelForm.h"

#include <vector>

namespace tessera {

/// A chain in the memory of a CUDA device. The parameters of its last transform are given to each call.
template <int D>
class HeldChainOnCuda {
public:
  HeldChainOnCuda() = default;
  /// Copies the parameters of the constant transforms. Throws Error(device) with whyNotInKernels.
  HeldChainOnCuda(const Context&, const TransformChain<D>&);
  /// A chain whose parameters are all constant: before() is the whole chain. A spline of landmarks then needs
  /// no influence matrix. Throws as above.
  static HeldChainOnCuda constant(const Context&, const TransformChain<D>&);

  /// `parameters` of the last transform lie on the host if it is linear, else on the device.
  ChainOnCuda<D> at(const Context&, std::span<const double> parameters);
  /// All transforms but the last.
  const ChainOnCuda<D>& before() const { return before_; }

private:
  using Held = std::unique_ptr<HeldTransformOnCuda<D>>;
  void append(const Context&, const TransformChain<D>&);

  std::shared_ptr<const Transform<D>> last_;
  Held heldLast_;
  Combination combination_ = Combination::compose;
  ChainOnCuda<D> before_;
  std::vector<Held> heldBefore_;
};

}
