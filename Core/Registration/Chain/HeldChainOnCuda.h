#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Registration/Transform.h"

#include <string>
#include <vector>

namespace tessera {

/// Empty if kernels can evaluate the chain; otherwise what they cannot: `a chain of 9 transforms (at most
/// 8)`.
template <int D>
std::string whyNotOnCuda(const TransformChain<D>&);

/// A chain in the memory of a CUDA device, its last parameters open.
template <int D>
class HeldChainOnCuda {
public:
  HeldChainOnCuda() = default;
  /// Copies the parameters of the constant transforms. Throws Error(device) with whyNotOnCuda.
  HeldChainOnCuda(const Context&, const TransformChain<D>&);

  /// What it takes of the device.
  static double deviceBytes(const TransformChain<D>&);

  /// `parameters` of the last transform lie on the host if it is linear, else on the device.
  ChainOnCuda<D> at(const Context&, std::span<const double> parameters);
  /// All but the last transform.
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

/// Where a chain's parameters and their gradients are kept while a level runs on `context`: those few of a
/// linear transform on the host, so that the optimizer's steps cost no launches; all others on the device.
template <int D>
Context vectorContext(const Context& context, const Transform<D>& last);

}
