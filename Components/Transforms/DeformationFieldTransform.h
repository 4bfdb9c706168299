#pragma once

#include "Components/Transforms/Shared/DisplacementImage.h"
#include "Components/Transforms/Shared/OnCuda/KernelForm.h"
#include "Core/Image/Image.h"
#include "Core/Registration/Transform.h"
#include "Core/Registration/TransformFiles/DisplacementForm.h"

namespace tessera {

/// T(x) = x + u(x), where u is an image of displacements (mm, along the world's axes), as `tessera-transform
/// -def all` writes it. u is that of the nearest voxel (order 0) or a linear interpolation (order 1), and
/// zero outside of the image. The transform has no parameters and comes from transform files only.
template <int D>
class DeformationFieldTransform final : public Transform<D>,
                                        public SpatialDerivatives<D>,
                                        public DisplacementForm<D>,
                                        public KernelForm<D> {
public:
  explicit DeformationFieldTransform(const Parameters&) {}
  static const ComponentDescription& description();

  std::string name() const override { return description().name; }
  std::size_t parameterCount() const override { return 0; }

  void map(Context&, const ListSamples<D>&, std::span<const double> parameters,
           const PointsOut<D>&) const override;
  /// The derivatives of the linear interpolant. Throws Error(usage) for order 0, which has no derivative.
  void spatialDerivatives(Context&, const ListSamples<D>&, std::span<const double> parameters,
                          double* jacobian, double* hessian) const override;
  /// Throws Error(usage), because there are no parameters.
  void pullBackSpatialDerivatives(Context&, const ListSamples<D>&, std::span<const double> parameters,
                                  const double* covJacobian, const double* covHessian,
                                  std::span<double> gradient) const override;
  bool hasHessian() const override { return image_.order == 1; }

  const SpatialDerivatives<D>* differentiable() const override { return this; }
  const CudaForm<D>* cudaForm() const override { return this; }
  double mappingWork() const override { return D; }

  /// The grid of u.
  const ImageGeometry<D>& grid() const { return field_->geometry; }

  TransformKind kind() const override { return TransformKind::displacementImage; }
  std::unique_ptr<HeldTransformOnCuda<D>> hold(const Context&, std::span<const double>) const override;

  void setDisplacements(std::shared_ptr<const VectorImage<D>>) override;
  /// Throws Error(unwritableOutput) after setDisplacements: the field has no file of its own.
  std::vector<FileEntry> fileEntries() const override;
  std::vector<double> restore(const Context&, const Parameters& transformFile) override;
  ItkTransform itkTransform(std::span<const double> parameters) const override;

private:
  std::string fileName_; // as it stands in the transform file; empty: none
  std::string path_;     // of the file that it led to
  std::shared_ptr<const VectorImage<D>> field_;
  DisplacementImage<D> image_; // points to the voxels of field_
};

}
