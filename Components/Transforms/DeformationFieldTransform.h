#pragma once

#include "Components/Transforms/Shared/DisplacementImage.h"
#include "Components/Transforms/Shared/OnCuda/KernelForm.h"
#include "Core/Image/Image.h"
#include "Core/Registration/Transform.h"

namespace tessera {

/// T(x) = x + u(x), u an image of displacements (mm, along the world's axes) as `tessera-transform -def all`
/// writes it; nearest voxel (order 0) or linear (order 1); zero displacement outside of the image. No
/// parameters: it comes from transform files.
template <int D>
class DeformationFieldTransform final : public Transform<D>,
                                        public SpatialDerivatives<D>,
                                        public KernelForm<D> {
public:
  explicit DeformationFieldTransform(const Parameters&) {}
  static const ComponentDescription& description();

  std::string name() const override { return description().name; }
  std::size_t parameterCount() const override { return 0; }

  void map(Context&, const Samples<D>&, std::span<const double> parameters,
           const PointsOut<D>&) const override;
  /// Derivatives of the linear interpolant. Throws Error(usage) for order 0, which has no derivative.
  void spatialDerivatives(Context&, const Samples<D>&, std::span<const double> parameters, double* jacobian,
                          double* hessian) const override;
  /// Throws Error(usage), as there are no parameters.
  void pullBackSpatialDerivatives(Context&, const Samples<D>&, std::span<const double> parameters,
                                  const double* covJacobian, const double* covHessian,
                                  std::span<double> gradient) const override;
  bool hasHessian() const override { return image_.order == 1; }

  const SpatialDerivatives<D>* differentiable() const override { return this; }
  const CudaForm<D>* cudaForm() const override { return this; }

  TransformKind kind() const override { return TransformKind::displacementImage; }
  std::unique_ptr<HeldTransformOnCuda<D>> hold(const Context&, std::span<const double>) const override;
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
