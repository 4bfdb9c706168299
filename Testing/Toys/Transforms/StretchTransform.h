#pragma once

#include "Components/Transforms/Shared/LinearTransform.h"

namespace tessera {

/// T(x) = S (x - c) + t + c, S a factor for each axis. Parameters: factors (D), then t (D, mm).
template <int D>
class StretchTransform final : public LinearTransform<D> {
public:
  explicit StretchTransform(const Parameters&);

  static const ComponentDescription& description();

  std::string name() const override { return "StretchTransform"; }
  ItkTransform itkTransform(std::span<const double> parameters) const override;

private:
  using typename LinearTransform<D>::Derivatives;
  AffineMap<D> aboutCenter(std::span<const double> parameters) const override;
  Derivatives derivatives(std::span<const double> parameters) const override;
  std::vector<double> rotationParameters(const Matrix<D>&) const override;
  bool turns() const override { return false; }
};

}
