#pragma once

#include "Components/Transforms/Shared/LinearTransform.h"

namespace tessera {

/// T(x) = x + t. Parameters: t (D), in mm.
template <int D>
class TranslationTransform final : public LinearTransform<D> {
public:
  explicit TranslationTransform(const Parameters& parameters)
      : LinearTransform<D>(parameters, D, StartRules::translation, LinearTransform<D>::ScaleRule::none)
  {
  }

  static const ComponentDescription& description();

  std::string name() const override { return "TranslationTransform"; }
  ItkTransform itkTransform(std::span<const double> parameters) const override
  {
    return {this->itkClass("TranslationTransform"), {}, {parameters.begin(), parameters.end()}};
  }

private:
  using typename LinearTransform<D>::Derivatives;
  AffineMap<D> aboutCenter(std::span<const double> parameters) const override;
  Derivatives derivatives(std::span<const double>) const override { return this->derivativesOfTranslation(); }
  std::vector<double> rotationParameters(const Matrix<D>&) const override
  {
    return std::vector<double>(D, 0.0);
  }
  bool turns() const override { return false; }
};

}
