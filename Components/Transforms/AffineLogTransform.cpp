#include "Components/Transforms/AffineLogTransform.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera {
namespace {

/// A matrix and its derivative along a line of matrices.
template <int D>
struct MatrixAlongLine {
  Matrix<D> value = identityMatrix<D>(), slope{};
};

template <int D>
MatrixAlongLine<D> product(const MatrixAlongLine<D>& a, const MatrixAlongLine<D>& b)
{
  MatrixAlongLine<D> ab{multiply<D>(a.value, b.value), multiply<D>(a.value, b.slope)};
  const Matrix<D> other = multiply<D>(a.slope, b.value);
  for (int k = 0; k < D * D; ++k)
    ab.slope[k / D][k % D] += other[k / D][k % D];
  return ab;
}

/// exp(L), and its derivative along `slope`: the series at L / 2^halvings, whose norm is at most 1/2, by
/// Horner's rule, and as many squarings.
template <int D>
MatrixAlongLine<D> exponential(std::span<const double> logarithm, const Matrix<D>& slope)
{
  constexpr int terms = 16; // the next one is below 2^-17 / 17!, less than the rounding of 1
  double norm = 0;
  for (std::size_t k = 0; k < D * D; ++k)
    norm = std::max(norm, D * std::abs(logarithm[k]));
  const int halvings = norm > 0.5 ? std::min(std::ilogb(norm), 1000) + 2 : 0; // the norm may be infinite
  MatrixAlongLine<D> sum;
  for (int n = terms; n > 0; --n) {
    MatrixAlongLine<D> factor;
    for (int k = 0; k < D * D; ++k) {
      factor.value[k / D][k % D] = std::ldexp(logarithm[k], -halvings) / n;
      factor.slope[k / D][k % D] = std::ldexp(slope[k / D][k % D], -halvings) / n;
    }
    sum = product<D>(factor, sum);
    for (int d = 0; d < D; ++d)
      sum.value[d][d] += 1;
  }
  for (int squaring = 0; squaring < halvings; ++squaring)
    sum = product<D>(sum, sum);
  return sum;
}

}

template <int D>
const ComponentDescription& AffineLogTransform<D>::description()
{
  static const ComponentDescription description = [] {
    std::vector<ParameterInfo> rows = LinearTransform<D>::centeredParameters(StartRules::centered);
    for (ParameterInfo& row : rows)
      if (row.name == "AutomaticScalesEstimation")
        row.meaning = "changes nothing, as in elastix: scales are estimated where Scales does not give them";
    return ComponentDescription{"Transform", "AffineLogTransform",
                                "T(x) = exp(L) (x - c) + t + c, an affine map that never mirrors",
                                std::move(rows)};
  }();
  return description;
}

template <int D>
AffineMap<D> AffineLogTransform<D>::aboutCenter(std::span<const double> parameters) const
{
  AffineMap<D> map{exponential<D>(parameters, {}).value, {}};
  std::copy_n(parameters.begin() + D * D, D, map.offset.begin());
  return map;
}

template <int D>
typename AffineLogTransform<D>::Derivatives
AffineLogTransform<D>::derivatives(std::span<const double> parameters) const
{
  Derivatives d = this->derivativesOfTranslation();
  for (int k = 0; k < D * D; ++k) {
    Matrix<D> entry{};
    entry[k / D][k % D] = 1;
    d[k].matrix = exponential<D>(parameters, entry).slope;
  }
  return d;
}

/// The derivative of exp at L is the adjoint of that at L transposed, so that one takes the place of D * D.
template <int D>
void AffineLogTransform<D>::pullBackMoments(std::span<const double> parameters,
                                            const CovectorMoments<D>& moments,
                                            std::span<double> gradient) const
{
  std::array<double, D * D> transposed;
  for (int k = 0; k < D * D; ++k)
    transposed[k] = parameters[k % D * D + k / D];
  const Matrix<D> slope = exponential<D>(transposed, moments.outer).slope;
  for (int k = 0; k < D * D; ++k)
    gradient[k] += slope[k / D][k % D];
  for (int axis = 0; axis < D; ++axis)
    gradient[D * D + axis] += moments.sum[axis];
}

template <int D>
std::vector<double> AffineLogTransform<D>::rotationParameters(const Matrix<D>& rotation) const
{
  std::vector<double> parameters(D * D + D, 0.0);
  Matrix<3> r = identityMatrix<3>();
  for (int row = 0; row < D; ++row)
    std::ranges::copy(rotation[row], r[row].begin());
  const Vec<3> half = vectorPartOfQuaternion(r); // sin(angle / 2) times the axis
  const double sine = std::hypot(half[0], half[1], half[2]);
  const double cosine = std::sqrt(std::max(1 + r[0][0] + r[1][1] + r[2][2], 0.0)) / 2;
  const double anglePerSine = sine > 0 ? 2 * std::atan2(sine, cosine) / sine : 2;
  for (int axis = D == 2 ? 2 : 0; axis < 3; ++axis) {
    const int a = (axis + 1) % 3, b = (axis + 2) % 3;
    parameters[b * D + a] = anglePerSine * half[axis];
    parameters[a * D + b] = -anglePerSine * half[axis] + 0.0; // files shall have no -0
  }
  return parameters;
}

template <int D>
ItkTransform AffineLogTransform<D>::itkTransform(std::span<const double> parameters) const
{
  const AffineMap<D> map = aboutCenter(parameters);
  std::vector<double> numbers;
  for (const auto& row : map.matrix)
    numbers.insert(numbers.end(), row.begin(), row.end());
  numbers.insert(numbers.end(), map.offset.begin(), map.offset.end());
  return {this->itkClass("AffineTransform"), this->centerAsVector(), std::move(numbers)};
}

TESSERA_INSTANTIATE_CLASS(AffineLogTransform);

}
