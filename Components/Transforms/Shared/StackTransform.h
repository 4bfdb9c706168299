#pragma once

#include "Components/Transforms/Shared/OnCuda/StackForm.h"
#include "Core/Registration/OptimizableTransform.h"

namespace tessera {

/// The base of all stacks: a transform of slices for each time of a series, whose last axis is time. A point
/// is mapped by the sub-transform of the nearest time, which is the first or last one beyond the series, and
/// stays at its time. `Sub` is the transform of slices; all times share its model (grid, centre) and have
/// parameters of their own.
template <int D, template <int> class Sub>
class StackTransform : public OptimizableTransform<D>, public SpatialDerivatives<D>, public StackForm<D> {
public:
  std::size_t parameterCount() const override { return count_ * sub_.parameterCount(); }

  /// Throws Error(unreadableInput) if the fixed image is no series. An initial transform does not change the
  /// model.
  std::vector<double> initialize(Context&, const TransformStart<D>&) override;
  void prepareForLevel(Context&, std::size_t level, std::vector<double>& parameters) override;
  std::vector<double> scales(Context&, const ListSamples<D>&,
                             std::span<const double> parameters) const override;
  bool scalesFollowLevels() const override { return sub_.scalesFollowLevels(); }

  void map(Context&, const ListSamples<D>&, std::span<const double> parameters,
           const PointsOut<D>&) const override;
  void pullBack(Context&, const ListSamples<D>&, std::span<const double> parameters, const Covectors<D>&,
                std::span<double> gradient) const override;
  void pushForward(Context&, const ListSamples<D>&, std::span<const double> parameters,
                   std::span<const double> step, const PointsOut<D>&) const override;
  /// The matrix C has a block for each time.
  JacobianTerms jacobianTerms(Context&, const ListSamples<D>&, std::span<const double> parameters,
                              std::span<const double> scales) const override;

  void spatialDerivatives(Context&, const ListSamples<D>&, std::span<const double> parameters,
                          double* jacobian, double* hessian) const override;
  void pullBackSpatialDerivatives(Context&, const ListSamples<D>&, std::span<const double> parameters,
                                  const double* covJacobian, const double* covHessian,
                                  std::span<double> gradient) const override;
  bool hasHessian() const override { return sub_.hasHessian(); }
  const SpatialDerivatives<D>* differentiable() const override { return this; }
  const CudaForm<D>* cudaForm() const override { return this; }
  const Transform<D - 1>& slice() const override { return sub_; }
  TimesOfStack times() const override { return {static_cast<int>(count_), spacing_, origin_}; }

  std::vector<FileEntry> fileEntries() const override;
  std::vector<double> restore(const Context&, const Parameters& transformFile) override;
  double mappingWork() const override { return sub_.mappingWork(); }

protected:
  explicit StackTransform(const Parameters& parameters) : sub_(parameters) {}

  /// The lines of a transform file that describe the model of the slices' transforms.
  virtual std::vector<FileEntry> modelEntries() const = 0;
  virtual void restoreModel(const Parameters& transformFile) = 0;

  Sub<D - 1> sub_;

private:
  /// The parameters, or derivatives by them, of the sub-transform of a time.
  template <class T>
  std::span<T> partOf(std::span<T> all, std::size_t time) const
  {
    return all.subspan(time * sub_.parameterCount(), sub_.parameterCount());
  }
  /// Calls visit(slice of the sorted samples) for each time that has samples.
  template <class Visit>
  void forEachTime(const ListSamples<D>&, Visit&&) const;

  std::size_t count_ = 0;           // number of sub-transforms
  double spacing_ = 1, origin_ = 0; // of the times, along the last axis
};

}
