#pragma once

#include "Components/Transforms/Shared/LinearTransform.h"

namespace tessera {

/// T(x) = A (x - c) + t + c. Parameters: A row by row, then t in mm.
template <int D>
class AffineTransform final : public LinearTransform<D> {
public:
  explicit AffineTransform(const Parameters&);

  static const ComponentDescription& description();

  std::string name() const override { return "AffineTransform"; }
  std::string fileHeading() const override { return "AdvancedAffineTransform specific"; } // elastix's text
  ItkTransform itkTransform(std::span<const double> parameters) const override;

private:
  using typename LinearTransform<D>::Derivatives;
  AffineMap<D> aboutCenter(std::span<const double> parameters) const override;
  Derivatives derivatives(std::span<const double> parameters) const override;
  std::vector<double> rotationParameters(const Matrix<D>& rotation) const override;
  std::size_t translationIndex() const override;
  std::vector<double> defaultScales() const override;
};

}
