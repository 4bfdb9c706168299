#pragma once

#include "Components/Transforms/Shared/BSplineField.h"
#include "Components/Transforms/Shared/OnCuda/KernelForm.h"
#include "Core/Registration/Fields/BSplineLattice.h"
#include "Core/Registration/OptimizableTransform.h"

namespace tessera {

/// Free-form deformation, T(x) = x + sum_k c_k beta_n(i(x) - k), with i(x) the continuous grid index
/// (Rueckert et al., "Nonrigid registration using free-form deformations", 1999). The displacement is zero
/// where the support of x is not fully inside the grid.
///
/// Parameters: the x-displacements (mm, along the world's axes) of all control points, grid x fastest; then
/// those in y, then z. A cyclic grid displaces nothing along its last axis.
template <int D>
class BSplineTransform final : public OptimizableTransform<D>,
                               public SpatialDerivatives<D>,
                               public FieldForm<D>,
                               public KernelForm<D> {
public:
  explicit BSplineTransform(const Parameters&);
  static const ComponentDescription& description();

  std::string name() const override { return description().name; }
  std::size_t parameterCount() const override { return grid_.parameterCount(); }

  std::vector<double> initialize(Context& context, const TransformStart<D>& start) override
  {
    setBox(context, start.fixed->geometry, start.initial);
    level_ = 0;
    setGrid(gridOfLevel(0));
    return std::vector<double>(parameterCount(), 0.0);
  }
  std::vector<double> takeOver(Context&, const TransformStart<D>&, std::size_t level,
                               const Transform<D>& other, std::span<const double> parameters) override;
  void prepareForLevel(Context&, std::size_t level, std::vector<double>& parameters) override;
  std::vector<double> scales(Context&, const ListSamples<D>&,
                             std::span<const double> parameters) const override;
  bool scalesFollowLevels() const override { return true; }

  void map(Context&, const ListSamples<D>& samples, std::span<const double> parameters,
           const PointsOut<D>& out) const override
  {
    field_.displace(samples, parameters.data(), true, out);
  }
  void pullBack(Context&, const ListSamples<D>& samples, std::span<const double>,
                const Covectors<D>& covectors, std::span<double> gradient) const override
  {
    field_.pullBack(samples, covectors, gradient.data());
  }
  void pushForward(Context&, const ListSamples<D>& samples, std::span<const double>,
                   std::span<const double> step, const PointsOut<D>& out) const override
  {
    field_.displace(samples, step.data(), false, out);
  }
  JacobianTerms jacobianTerms(Context&, const ListSamples<D>&, std::span<const double> parameters,
                              std::span<const double> scales) const override;
  void spatialDerivatives(Context&, const ListSamples<D>& samples, std::span<const double> parameters,
                          double* jacobian, double* hessian) const override
  {
    field_.derivatives(samples, parameters.data(), jacobian, hessian);
  }
  void pullBackSpatialDerivatives(Context&, const ListSamples<D>& samples, std::span<const double>,
                                  const double* covJacobian, const double* covHessian,
                                  std::span<double> gradient) const override
  {
    field_.pullBackDerivatives(samples, covJacobian, covHessian, gradient.data());
  }
  bool hasHessian() const override { return true; }

  const SpatialDerivatives<D>* differentiable() const override { return this; }
  const FieldForm<D>* field() const override { return this; }
  const CudaForm<D>* cudaForm() const override
  {
    if constexpr (D < 4)
      return this;
    return nullptr;
  }

  TransformKind kind() const override { return TransformKind::bspline; }
  std::unique_ptr<HeldTransformOnCuda<D>> hold(const Context&,
                                               std::span<const double> constant) const override;
  std::optional<AlignedField<D>> alignedField(const ImageGeometry<D>& lattice) const override
  {
    if constexpr (D < 4)
      return alignedFieldOf(grid_, lattice);
    return {};
  }
  std::string fieldInterpolator() const override { return fieldInterpolator_; }

  std::vector<FileEntry> fileEntries() const override;
  std::vector<double> restore(const Context&, const Parameters& transformFile) override;
  /// Sets the grid from a transform parameter file.
  void restoreGrid(const Parameters& transformFile);
  ItkTransform itkTransform(std::span<const double> parameters) const override;

  const BSplineGrid<D>& grid() const override { return grid_; }
  double mappingWork() const override { return std::pow(grid_.order + 1, D) / 16; }

private:
  /// Finds the box that the grids of all levels cover.
  void setBox(Context&, const ImageGeometry<D>& fixed, const TransformChain<D>* initial);
  void setGrid(const BSplineGrid<D>& grid)
  {
    grid_ = grid;
    field_ = BSplineField<D>(grid);
  }
  BSplineGrid<D> gridOfLevel(std::size_t level) const;
  /// Called before the first level; throws if the grid of some level cannot be made.
  void checkGrids() const;
  Vec<D> finalSpacingMm(const Vec<D>& voxelSpacingMm) const;
  double spacingFactor(std::size_t level, int axis) const;

  Parameters parameters_;
  std::string fieldInterpolator_;
  std::size_t level_ = 0;
  GridBox<D> box_;
  Vec<D> finalSpacingMm_{};
  BSplineGrid<D> grid_;
  BSplineField<D> field_;
};

}
