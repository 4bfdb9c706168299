#pragma once

#include "Components/Transforms/Shared/LinearTransform.h"

namespace tessera {

/// T(x) = exp(L) (x - c) + t + c: an affine map that never mirrors. Parameters: L row by row, then t in mm.
template <int D>
class AffineLogTransform final : public LinearTransform<D> {
public:
  explicit AffineLogTransform(const Parameters& parameters)
      : LinearTransform<D>(parameters, D * D + D, StartRules::centered,
                           LinearTransform<D>::ScaleRule::estimatedUnlessGiven)
  {
  }

  static const ComponentDescription& description();

  std::string name() const override { return "AffineLogTransform"; }
  ItkTransform itkTransform(std::span<const double> parameters) const override;
  void pullBackMoments(std::span<const double> parameters, const CovectorMoments<D>&,
                       std::span<double> gradient) const override;

private:
  using typename LinearTransform<D>::Derivatives;
  AffineMap<D> aboutCenter(std::span<const double> parameters) const override;
  Derivatives derivatives(std::span<const double> parameters) const override;
  std::vector<double> rotationParameters(const Matrix<D>& rotation) const override;
};

}
