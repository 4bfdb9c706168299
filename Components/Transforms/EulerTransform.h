#pragma once

#include "Components/Transforms/Shared/LinearTransform.h"

namespace tessera {

/// T(x) = R (x - c) + t + c. Parameters: 2D angle, t; 3D angles about x, y and z, t; in rad and mm.
/// In 3D R = Rz Rx Ry, or Rz Ry Rx with (ComputeZYX "true").
template <int D>
class EulerTransform final : public LinearTransform<D> {
public:
  explicit EulerTransform(const Parameters&);

  static const ComponentDescription& description();

  std::string name() const override { return "EulerTransform"; }
  std::vector<double> takeOver(Context&, const TransformStart<D>&, std::size_t, const Transform<D>& other,
                               std::span<const double> parameters) override;
  std::vector<FileEntry> fileEntries() const override;
  std::vector<double> restore(const Context&, const Parameters& transformFile) override;
  ItkTransform itkTransform(std::span<const double> parameters) const override
  {
    std::vector<double> fixed = this->centerAsVector();
    if (D == 3)
      fixed.push_back(computeZyx_ ? 1 : 0);
    return {this->itkClass(D == 2 ? "Euler2DTransform" : "Euler3DTransform"),
            fixed,
            {parameters.begin(), parameters.end()}};
  }

private:
  using typename LinearTransform<D>::Derivatives;
  AffineMap<D> aboutCenter(std::span<const double> parameters) const override;
  Derivatives derivatives(std::span<const double> parameters) const override;
  std::vector<double> rotationParameters(const Matrix<D>& rotation) const override;

  bool computeZyx_ = false;
};

}
