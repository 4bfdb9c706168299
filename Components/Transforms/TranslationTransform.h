#pragma once

#include "Components/Transforms/Shared/LinearTransform.h"

namespace tessera {

/// T(x) = x + t. Parameters: t (D), in mm.
template <int D>
class TranslationTransform final : public LinearTransform<D> {
public:
  explicit TranslationTransform(const Parameters&);

  static const ComponentDescription& description();

  std::string name() const override { return "TranslationTransform"; }
  ItkTransform itkTransform(std::span<const double> parameters) const override;

private:
  using typename LinearTransform<D>::Derivatives;
  AffineMap<D> aboutCenter(std::span<const double> parameters) const override;
  Derivatives derivatives(std::span<const double> parameters) const override;
  std::vector<double> rotationParameters(const Matrix<D>& rotation) const override;
  bool turns() const override { return false; }
  std::size_t translationIndex() const override;
  std::vector<double> defaultScales() const override;
};

}
