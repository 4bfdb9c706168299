#include "Components/Transforms/EulerTransform.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

const Parameter<bool> computeZyx = booleanParameter("ComputeZYX", false, Arity::single,
                                                    "3D: turn about x, then y, then z instead of y, x, z");

/// The rotation about one axis, or its derivative with respect to the angle.
Matrix<3> turn(int axis, double angle, bool derivative)
{
  const int a = (axis + 1) % 3, b = (axis + 2) % 3;
  const double c = derivative ? -std::sin(angle) : std::cos(angle),
               s = derivative ? std::cos(angle) : std::sin(angle);
  Matrix<3> m{};
  m[axis][axis] = derivative ? 0 : 1;
  m[a][a] = c;
  m[a][b] = -s;
  m[b][a] = s;
  m[b][b] = c;
  return m;
}

/// The whole rotation, or its derivative with respect to one angle.
Matrix<3> rotation(std::span<const double> angles, bool zyx, int derivedAngle = -1)
{
  const Matrix<3> x = turn(0, angles[0], derivedAngle == 0), y = turn(1, angles[1], derivedAngle == 1);
  const Matrix<3> z = turn(2, angles[2], derivedAngle == 2);
  return multiply<3>(z, zyx ? multiply<3>(y, x) : multiply<3>(x, y));
}

Matrix<2> planeRotation(double angle)
{
  const double c = std::cos(angle), s = std::sin(angle);
  return {{{c, -s}, {s, c}}};
}

constexpr int angleCount(int dimension)
{
  return dimension == 2 ? 1 : 3;
}

}

template <int D>
EulerTransform<D>::EulerTransform(const Parameters& parameters)
    : LinearTransform<D>(parameters, angleCount(D) + D, StartRules::centered,
                         LinearTransform<D>::ScaleRule::oneForRotations),
      computeZyx_(D == 3 && parameters.get(computeZyx))
{
}

template <int D>
const ComponentDescription& EulerTransform<D>::description()
{
  static const ComponentDescription description{
      "Transform", "EulerTransform", "T(x) = R (x - c) + t + c, R a rotation",
      joinedRows({LinearTransform<D>::centeredParameters(StartRules::centered), {computeZyx}})};
  return description;
}

template <int D>
AffineMap<D> EulerTransform<D>::aboutCenter(std::span<const double> parameters) const
{
  AffineMap<D> map;
  if constexpr (D == 2)
    map.matrix = planeRotation(parameters[0]);
  else
    map.matrix = rotation(parameters, computeZyx_);
  std::copy_n(parameters.begin() + angleCount(D), D, map.offset.begin());
  return map;
}

template <int D>
typename EulerTransform<D>::Derivatives
EulerTransform<D>::derivatives(std::span<const double> parameters) const
{
  Derivatives d = this->derivativesOfTranslation();
  if constexpr (D == 2) {
    const double c = std::cos(parameters[0]), s = std::sin(parameters[0]);
    d[0].matrix = {{{-s, -c}, {c, -s}}};
  } else {
    for (int angle = 0; angle < 3; ++angle)
      d[angle].matrix = rotation(parameters, computeZyx_, angle);
  }
  return d;
}

template <int D>
std::vector<double> EulerTransform<D>::rotationParameters(const Matrix<D>& r) const
{
  std::vector<double> parameters(angleCount(D) + D, 0.0);
  if constexpr (D == 2) {
    parameters[0] = std::atan2(r[1][0], r[0][0]);
  } else {
    // The middle one of the three turns is about x, or about y with ComputeZYX; where its cosine is 0, the
    // other two turn about the same axis, and one of them is chosen as 0.
    const int middle = computeZyx_ ? 1 : 0, first = 1 - middle;
    const double sine = std::clamp(computeZyx_ ? -r[2][0] : r[2][1], -1.0, 1.0);
    parameters[middle] = std::asin(sine);
    const bool isLocked = 1 - std::abs(sine) < 1e-12;
    const double sineOfFirst = computeZyx_ ? r[2][1] : -r[2][0];
    parameters[first] = isLocked ? 0 : std::atan2(sineOfFirst, r[2][2]);
    if (isLocked)
      parameters[2] = computeZyx_ ? std::atan2(-r[0][1], r[1][1]) : std::atan2(r[1][0], r[0][0]);
    else
      parameters[2] = computeZyx_ ? std::atan2(r[1][0], r[0][0]) : std::atan2(-r[0][1], r[1][1]);
    for (double& angle : parameters)
      angle += 0.0; // files shall have no -0
  }
  return parameters;
}

template <int D>
std::vector<double> EulerTransform<D>::takeOver(Context& context, const TransformStart<D>& start,
                                                std::size_t level, const Transform<D>& other,
                                                std::span<const double> parameters)
{
  if (dynamic_cast<const EulerTransform&>(other).computeZyx_ != computeZyx_)
    this->settings_.fail(computeZyx.name, "the transform to start at turns in another order",
                         "Allowed: the same order in both");
  return LinearTransform<D>::takeOver(context, start, level, other, parameters);
}

template <int D>
std::vector<FileEntry> EulerTransform<D>::fileEntries() const
{
  std::vector<FileEntry> entries = LinearTransform<D>::fileEntries();
  if (D == 3)
    entries.push_back({computeZyx.name, {computeZyx_ ? "true" : "false"}, {}});
  return entries;
}

template <int D>
std::vector<double> EulerTransform<D>::restore(const Context& host, const Parameters& transformFile)
{
  computeZyx_ = D == 3 && transformFile.get(computeZyx);
  return LinearTransform<D>::restore(host, transformFile);
}

TESSERA_INSTANTIATE_CLASS(EulerTransform);

}
