#include "Components/Transforms/SimilarityTransform.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

struct Quaternion {
  double x, y, z, w;
};

/// The unit quaternion with this vector part, as ITK completes it.
Quaternion unitQuaternion(std::span<const double> vectorPart)
{
  constexpr double epsilon = 1e-10;
  double x = vectorPart[0], y = vectorPart[1], z = vectorPart[2];
  const double length = std::sqrt(x * x + y * y + z * z);
  if (length >= 1 - epsilon) {
    const double shrink = 1 / (length * (1 + epsilon));
    x *= shrink;
    y *= shrink;
    z *= shrink;
  }
  return {x, y, z, std::sqrt(1 - (x * x + y * y + z * z))};
}

Matrix<3> rotation(const Quaternion& q)
{
  return {{{1 - 2 * (q.y * q.y + q.z * q.z), 2 * (q.x * q.y - q.z * q.w), 2 * (q.x * q.z + q.y * q.w)},
           {2 * (q.x * q.y + q.z * q.w), 1 - 2 * (q.x * q.x + q.z * q.z), 2 * (q.y * q.z - q.x * q.w)},
           {2 * (q.x * q.z - q.y * q.w), 2 * (q.y * q.z + q.x * q.w), 1 - 2 * (q.x * q.x + q.y * q.y)}}};
}

/// The derivative of the rotation for a change c of the quaternion.
Matrix<3> rotationDerivative(const Quaternion& q, const Quaternion& c)
{
  const double xx = 2 * q.x * c.x, yy = 2 * q.y * c.y, zz = 2 * q.z * c.z;
  const double xy = q.x * c.y + c.x * q.y, xz = q.x * c.z + c.x * q.z, yz = q.y * c.z + c.y * q.z;
  const double xw = q.x * c.w + c.x * q.w, yw = q.y * c.w + c.y * q.w, zw = q.z * c.w + c.z * q.w;
  return {{{-2 * (yy + zz), 2 * (xy - zw), 2 * (xz + yw)},
           {2 * (xy + zw), -2 * (xx + zz), 2 * (yz - xw)},
           {2 * (xz - yw), 2 * (yz + xw), -2 * (xx + yy)}}};
}

template <int D>
Matrix<D> scaled(double factor, Matrix<D> m)
{
  for (auto& row : m)
    for (double& entry : row)
      entry *= factor;
  return m;
}

constexpr std::size_t scaleIndex(int dimension)
{
  return dimension == 2 ? 0 : 6;
}

}

template <int D>
const ComponentDescription& SimilarityTransform<D>::description()
{
  static const ComponentDescription description{"Transform", "SimilarityTransform",
                                                "T(x) = s R (x - c) + t + c, R a rotation, s a scale",
                                                LinearTransform<D>::centeredParameters(StartRules::centered)};
  return description;
}

template <int D>
AffineMap<D> SimilarityTransform<D>::aboutCenter(std::span<const double> parameters) const
{
  AffineMap<D> map;
  const double scale = parameters[scaleIndex(D)];
  if constexpr (D == 2) {
    const double c = scale * std::cos(parameters[1]), s = scale * std::sin(parameters[1]);
    map.matrix = {{{c, -s}, {s, c}}};
  } else {
    map.matrix = scaled<3>(scale, rotation(unitQuaternion(parameters)));
  }
  std::copy_n(parameters.begin() + translationIndex(), D, map.offset.begin());
  return map;
}

template <int D>
typename SimilarityTransform<D>::Derivatives
SimilarityTransform<D>::derivatives(std::span<const double> parameters) const
{
  Derivatives d = this->derivativesOfTranslation();
  const double scale = parameters[scaleIndex(D)];
  if constexpr (D == 2) {
    const double c = std::cos(parameters[1]), s = std::sin(parameters[1]);
    d[0].matrix = {{{c, -s}, {s, c}}};
    d[1].matrix = {{{-scale * s, -scale * c}, {scale * c, -scale * s}}};
  } else {
    // The scalar part follows the vector part: dw = -(x dx + y dy + z dz) / w.
    const Quaternion q = unitQuaternion(parameters);
    d[0].matrix = scaled<3>(scale, rotationDerivative(q, {1, 0, 0, -q.x / q.w}));
    d[1].matrix = scaled<3>(scale, rotationDerivative(q, {0, 1, 0, -q.y / q.w}));
    d[2].matrix = scaled<3>(scale, rotationDerivative(q, {0, 0, 1, -q.z / q.w}));
    d[6].matrix = rotation(q);
  }
  return d;
}

template <int D>
std::vector<double> SimilarityTransform<D>::rotationParameters(const Matrix<D>& r) const
{
  std::vector<double> parameters(this->parameterCount(), 0.0);
  parameters[scaleIndex(D)] = 1;
  if constexpr (D == 2) {
    parameters[1] = std::atan2(r[1][0], r[0][0]);
  } else {
    std::ranges::copy(vectorPartOfQuaternion(r), parameters.begin());
  }
  return parameters;
}

template <int D>
std::vector<double> SimilarityTransform<D>::defaultScales() const
{
  std::vector<double> scales = LinearTransform<D>::defaultScales();
  scales[scaleIndex(D)] = 10000;
  return scales;
}

TESSERA_INSTANTIATE_CLASS(SimilarityTransform);

}
