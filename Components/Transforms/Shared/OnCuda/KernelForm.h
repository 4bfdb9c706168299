#pragma once

#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.h"
#include "Core/Registration/Chain/ChainPasses.h"

namespace tessera {

/// A transform in the memory of a CUDA device while a level runs.
template <int D>
class HeldTransformOnCuda {
public:
  virtual ~HeldTransformOnCuda() = default;
  /// The transform in the form that kernels take. `parameters` lie on the host if the transform is linear,
  /// else on the device. They are not read if the transform is held with constant ones.
  virtual TransformOnCuda<D> at(const Context&, std::span<const double> parameters) = 0;
};

/// Empty if the chain has at most as many transforms as a ChainOnCuda; otherwise how many it has.
template <int D>
std::string whyTooLongForKernels(const TransformChain<D>&);

/// Empty if the kernels of this folder can evaluate the chain; otherwise what they cannot evaluate.
template <int D>
std::string whyNotInKernels(const TransformChain<D>&);

/// The CUDA form of a transform whose kind the kernels of this folder know.
template <int D>
class KernelForm : public CudaForm<D>, public OtherKernels<D> {
public:
  virtual TransformKind kind() const = 0;
  /// Copies the transform to the device. `constant` holds its parameters on the host if they stay the same
  /// while it is held, and is empty otherwise.
  virtual std::unique_ptr<HeldTransformOnCuda<D>> hold(const Context&,
                                                       std::span<const double> constant) const = 0;
  const OtherKernels<D>* otherKernels() const override { return this; }
  /// By InverseOnCuda, in whose file it is.
  void fieldOfInverse(Context&, const InverseTransform<D>&, const ImageGeometry<D>& lattice, RootQuantity,
                      std::span<float> values) const override;

  std::string whyNot(const TransformChain<D>& chain) const override { return whyNotInKernels<D>(chain); }
  std::unique_ptr<ChainPasses<D>> passes(const Context&, const TransformChain<D>&) const override;

protected:
  ~KernelForm() = default;
};

/// Kernels are for two and three dimensions.
template <>
class KernelForm<4> {
public:
  virtual TransformKind kind() const = 0;
  virtual std::unique_ptr<HeldTransformOnCuda<4>> hold(const Context&, std::span<const double>) const = 0;

protected:
  ~KernelForm() = default;
};

/// The form of a transform that the kernels of this folder know, or null.
template <int D>
const KernelForm<D>* kernelFormOf(const Transform<D>& transform)
{
  return dynamic_cast<const KernelForm<D>*>(transform.cudaForm());
}

}
