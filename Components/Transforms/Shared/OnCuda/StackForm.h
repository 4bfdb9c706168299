#pragma once

#include "Components/Transforms/Shared/OnCuda/StackOnCuda.h"
#include "Core/Registration/Chain/ChainPasses.h"

namespace tessera {

/// The CUDA form of a stack. It evaluates chains that are made of stacks alone.
template <int D>
class StackForm : public CudaForm<D>, public StackOfTransforms {
public:
  /// The transform of the slices of all times.
  virtual const Transform<D - 1>& slice() const = 0;
  std::string whyNot(const TransformChain<D>&) const override;
  std::unique_ptr<ChainPasses<D>> passes(const Context&, const TransformChain<D>&) const override;
  bool resamples() const override { return false; }
  const OtherKernels<D>* otherKernels() const override { return nullptr; }

protected:
  ~StackForm() = default;
};

}
