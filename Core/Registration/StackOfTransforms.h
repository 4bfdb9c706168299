#pragma once

namespace tessera {

template <int D>
struct TransformChain;

/// Times of a series at equal distances along its last axis.
struct TimesOfStack {
  int count = 0;
  double spacing = 1, origin = 0;
};

/// A transform whose parameters are those of one transform for each time, one after the other, implements
/// this interface, too.
class StackOfTransforms {
public:
  virtual TimesOfStack times() const = 0;

protected:
  ~StackOfTransforms() = default;
};

/// Whether a transform of the chain is a stack, so that the last axis is time.
template <int D>
bool hasStack(const TransformChain<D>&);

}
