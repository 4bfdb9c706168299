#pragma once

#include "Core/Image/Image.h"
#include "Core/Registration/Chain/DisplacementImage.h"
#include "Core/Registration/Transform.h"

namespace tessera {

/// T(x) = x + u(x), u an image of displacements (mm, along the world's axes) as `tessera-transform -def all`
/// writes it; nearest voxel (order 0) or linear (order 1); zero displacement outside of the image. No
/// parameters: it comes from transform files.
template <int D>
class DeformationFieldTransform final : public Transform<D> {
public:
  explicit DeformationFieldTransform(const Parameters&) {}
  static const ComponentDescription& description();

  std::string name() const override { return description().name; }
  std::size_t parameterCount() const override { return 0; }

  bool canBeOptimized() const override { return false; }
  std::vector<double> initialize(Context&, const TransformStart<D>&) override;
  void prepareForLevel(Context&, std::size_t level, std::vector<double>& parameters) override;
  std::vector<double> scales(Context&, const ListSamples<D>&,
                             std::span<const double> parameters) const override;

  void map(Context&, const Samples<D>&, std::span<const double> parameters,
           const PointsOut<D>&) const override;
  void pullBack(Context&, const Samples<D>&, std::span<const double> parameters, const Covectors<D>&,
                std::span<double> gradient) const override;
  void pushForward(Context&, const Samples<D>&, std::span<const double> parameters,
                   std::span<const double> step, const PointsOut<D>&) const override;
  JacobianTerms jacobianTerms(Context&, const ListSamples<D>&, std::span<const double> parameters,
                              std::span<const double> scales) const override;
  /// Of the linear interpolant. Throws Error(usage) for order 0, which has no derivative.
  void spatialDerivatives(Context&, const Samples<D>&, std::span<const double> parameters, double* jacobian,
                          double* hessian) const override;
  void pullBackSpatialDerivatives(Context&, const Samples<D>&, std::span<const double> parameters,
                                  const double* covJacobian, const double* covHessian,
                                  std::span<double> gradient) const override;
  bool hasHessian() const override { return image_.order == 1; }

  CudaForm cudaForm() const override { return CudaForm::displacementImage; }
  std::unique_ptr<HeldTransformOnCuda<D>> holdOnCuda(const Context&, std::span<const double>) const override;
  double deviceBytes(bool isConstant) const override;

  std::vector<FileEntry> fileEntries() const override;
  std::vector<double> restore(const Parameters& transformFile) override;
  ItkTransform itkTransform(std::span<const double> parameters) const override;

private:
  std::string fileName_; // as the transform file gives it
  std::shared_ptr<const VectorImage<D>> field_;
  DisplacementImage<D> image_; // its voxels are field_'s
};

}
