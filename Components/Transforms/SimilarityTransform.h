#pragma once

#include "Components/Transforms/Shared/LinearTransform.h"

namespace tessera {

/// T(x) = s R (x - c) + t + c. The parameters are those of ITK: in 2D scale, angle (rad), t; in 3D the vector
/// part of a unit quaternion, t, scale; t is in mm. A vector part of length 1 or more is shortened to just
/// below 1, as in ITK.
template <int D>
class SimilarityTransform final : public LinearTransform<D> {
public:
  explicit SimilarityTransform(const Parameters& parameters)
      : LinearTransform<D>(parameters, D == 2 ? 4 : 7, StartRules::centered,
                           LinearTransform<D>::ScaleRule::entryByEntry)
  {
  }

  static const ComponentDescription& description();

  std::string name() const override { return "SimilarityTransform"; }
  ItkTransform itkTransform(std::span<const double> parameters) const override
  {
    return {this->itkClass(D == 2 ? "Similarity2DTransform" : "Similarity3DTransform"),
            this->centerAsVector(),
            {parameters.begin(), parameters.end()}};
  }

private:
  using typename LinearTransform<D>::Derivatives;
  AffineMap<D> aboutCenter(std::span<const double> parameters) const override;
  Derivatives derivatives(std::span<const double> parameters) const override;
  std::vector<double> rotationParameters(const Matrix<D>& rotation) const override;
  std::size_t translationIndex() const override { return D; }
  std::vector<double> defaultScales() const override;
};

}
