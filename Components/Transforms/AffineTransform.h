#pragma once

#include "Components/Transforms/Shared/LinearTransform.h"

namespace tessera {

/// T(x) = A (x - c) + t + c. Parameters: A row by row, then t in mm.
template <int D>
class AffineTransform final : public LinearTransform<D> {
public:
  explicit AffineTransform(const Parameters& parameters)
      : LinearTransform<D>(parameters, D * D + D, StartRules::maskAware,
                           LinearTransform<D>::ScaleRule::oneForRotations)
  {
  }

  static const ComponentDescription& description();

  std::string name() const override { return "AffineTransform"; }
  std::string fileHeading() const override { return "AdvancedAffineTransform specific"; } // elastix's text
  ItkTransform itkTransform(std::span<const double> parameters) const override
  {
    return {
        this->itkClass("AffineTransform"), this->centerAsVector(), {parameters.begin(), parameters.end()}};
  }

private:
  using typename LinearTransform<D>::Derivatives;
  AffineMap<D> aboutCenter(std::span<const double> parameters) const override;
  Derivatives derivatives(std::span<const double> parameters) const override;
  std::vector<double> rotationParameters(const Matrix<D>& rotation) const override;
};

}
