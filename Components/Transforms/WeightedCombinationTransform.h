#pragma once

#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/OptimizableTransform.h"
#include "Core/Registry/Registry.h"

namespace tessera {

/// T(x) = x + sum_i w_i (T_i(x) - x), a combination of transforms T_i from files, each with its chain of
/// initial transforms. Its parameters are the weights w_i. With (NormalizeCombinationWeights "true") the sum
/// is divided by the sum of the weights.
template <int D>
class WeightedCombinationTransform final : public OptimizableTransform<D>,
                                           public SpatialDerivatives<D>,
                                           public CudaForm<D> {
public:
  /// Reads the transforms that (SubTransforms ...) names. Throws Error(usage) if there are none, and the
  /// errors of readTransformChain.
  WeightedCombinationTransform(const Parameters&, const Registry&);
  static const ComponentDescription& description();

  std::string name() const override { return description().name; }
  std::size_t parameterCount() const override { return transforms_.size(); }

  /// Weights of 0, or equal ones that sum to 1 if they are normalized.
  std::vector<double> initialize(Context&, const TransformStart<D>&) override
  {
    return std::vector<double>(parameterCount(),
                               normalizes_ ? 1 / static_cast<double>(parameterCount()) : 0.0);
  }
  void prepareForLevel(Context&, std::size_t, std::vector<double>&) override {}
  std::vector<double> scales(Context&, const ListSamples<D>&,
                             std::span<const double> parameters) const override;

  /// This and all other functions of weights throw Error(registrationFailed) if they are to be normalized and
  /// their sum is 0.
  void map(Context&, const ListSamples<D>&, std::span<const double> parameters,
           const PointsOut<D>&) const override;
  void pullBack(Context&, const ListSamples<D>&, std::span<const double> parameters, const Covectors<D>&,
                std::span<double> gradient) const override;
  void pushForward(Context&, const ListSamples<D>&, std::span<const double> parameters,
                   std::span<const double> step, const PointsOut<D>&) const override;
  JacobianTerms jacobianTerms(Context&, const ListSamples<D>&, std::span<const double> parameters,
                              std::span<const double> scales) const override;
  void spatialDerivatives(Context&, const ListSamples<D>&, std::span<const double> parameters,
                          double* jacobian, double* hessian) const override;
  void pullBackSpatialDerivatives(Context&, const ListSamples<D>&, std::span<const double> parameters,
                                  const double* covJacobian, const double* covHessian,
                                  std::span<double> gradient) const override;
  bool hasHessian() const override;

  const SpatialDerivatives<D>* differentiable() const override { return this; }
  const CudaForm<D>* cudaForm() const override { return this; }

  double mappingWork() const override;

  /// The T_i.
  const std::vector<ChainPointer<D>>& transforms() const { return transforms_; }
  bool normalizes() const { return normalizes_; }
  /// n, by which the weighted sum of displacements is divided: 1, or the sum of the weights.
  double divisor(std::span<const double> weights) const;

  /// Other kernels than those of CombinationPasses evaluate no combination: it is the last of its chain.
  std::string whyNot(const TransformChain<D>&) const override;
  std::unique_ptr<ChainPasses<D>> passes(const Context&, const TransformChain<D>&) const override;
  const OtherKernels<D>* otherKernels() const override { return nullptr; }

  std::vector<FileEntry> fileEntries() const override;
  std::vector<double> restore(const Context&, const Parameters& transformFile) override;

private:
  class Combined;
  Combined displacements(Context&, const ListSamples<D>&, std::span<const double> weights) const;
  Combined derivatives(Context&, const ListSamples<D>&, std::span<const double> weights,
                       bool withHessian) const;
  std::vector<double> meanProducts(Context&, const ListSamples<D>&, std::span<const double> weights) const;

  Parameters settings_;
  std::vector<std::string> files_;   // as the text names them
  std::vector<std::string> digests_; // transformDigest of each
  std::vector<ChainPointer<D>> transforms_;
  bool normalizes_ = false;
};

}
