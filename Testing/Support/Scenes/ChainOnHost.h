#pragma once

#include "Components/Transforms/AffineTransform.h"
#include "Components/Transforms/Shared/OnCuda/HeldChainOnCuda.h"
#include "Testing/Support/ParameterText.h"

namespace tessera::testing {

/// The chain as kernels see it, its numbers on the host: held as what comes before another transform.
template <int D>
struct ChainOnHost {
  Context context;
  HeldChainOnCuda<D> held;
  ChainOnCuda<D> chain;

  explicit ChainOnHost(const ChainPointer<D>& of)
      : held(context, {of,
                       Combination::compose,
                       std::make_shared<AffineTransform<D>>(parametersOf("", D, 1, "Transform0")),
                       {}}),
        chain(held.before())
  {
  }
};

}
