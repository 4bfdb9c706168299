#pragma once

#include "Core/Registration/Transform.h"

#include <algorithm>

namespace tessera {

/// A chain with given parameters in its last transform. The chain is copied only if its parameters differ.
template <int D>
class ChainAtParameters {
public:
  const TransformChain<D>& operator()(const TransformChain<D>& chain, std::span<const double> parameters)
  {
    const bool same =
        chain.parameters.data() == parameters.data() && chain.parameters.size() == parameters.size();
    if (same || std::ranges::equal(chain.parameters, parameters))
      return chain;
    copy_.initial = chain.initial;
    copy_.combination = chain.combination;
    copy_.transform = chain.transform;
    copy_.parameters.assign(parameters.begin(), parameters.end());
    return copy_;
  }

private:
  TransformChain<D> copy_;
};

}
