#pragma once

#include "Core/Compute/Math/Random.h"
#include "Core/Registration/FieldInterpolator.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace tessera::testing {

/// A field whose grid just covers its voxels: voxel 0 lies `phase` (in control points, [0, 1)) behind the
/// begin of the valid region. `indexFromOffset` is no diagonal matrix, so that no exchange of axes stays
/// hidden.
template <int D>
AlignedField<D> coveredField(const std::array<int, D>& voxels, const std::array<double, D>& spacingVoxels,
                             const std::array<double, D>& phase, int order)
{
  AlignedField<D> field;
  field.order = order;
  for (int d = 0; d < D; ++d) {
    FieldAxis& axis = field.axes[d];
    axis.first = (order - 1) / 2.0 + phase[d];
    axis.step = 1 / spacingVoxels[d];
    axis.voxels = voxels[d];
    axis.points = static_cast<int>(phase[d] + axis.step * (voxels[d] - 1) + 1e-9) + order
                  + 1; // 1e-9: not cut by a rounding
    for (int e = 0; e < D; ++e)
      field.indexFromOffset[d][e] = d == e ? 0.11 + 0.02 * d : 0.01 * (1 + d + 2 * e);
  }
  return field;
}

/// The same field, its voxels moved by `controlPoints` along every axis: partly or wholly outside the valid
/// region.
template <int D>
AlignedField<D> shifted(AlignedField<D> field, double controlPoints)
{
  for (FieldAxis& axis : field.axes)
    axis.first += controlPoints;
  return field;
}

/// Uniform in [-largest, largest), all components.
template <int D>
std::vector<double> randomCoefficients(const AlignedField<D>& field, double largest, std::uint64_t seed)
{
  std::vector<double> values(D * field.pointCount());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = largest * (2 * unitUniform(randomWords(Draw{seed}, static_cast<std::uint32_t>(i), 0)[0]) - 1);
  return values;
}

/// The centred B-spline by its recursion: n b_n(x) = ((n+1)/2 + x) b_{n-1}(x + 1/2) + ((n+1)/2 - x) b_{n-1}(x
/// - 1/2).
inline double centredSpline(int order, double x)
{
  if (order == 0)
    return x >= -0.5 && x < 0.5 ? 1 : 0;
  const double half = (order + 1) / 2.0;
  return ((half + x) * centredSpline(order - 1, x + 0.5) + (half - x) * centredSpline(order - 1, x - 0.5))
         / order;
}

inline double centredSplineSlope(int order, double x)
{
  return centredSpline(order - 1, x + 0.5) - centredSpline(order - 1, x - 0.5);
}

/// u and du/dx (by the point, 1) of one voxel, summed directly over its (order + 1)^D control points in
/// double precision.
template <int D>
struct NaiveField {
  std::array<double, D> displacementMm{};
  Matrix<D> derivative{};

  Matrix<D> jacobian() const
  {
    Matrix<D> sum = derivative;
    for (int d = 0; d < D; ++d)
      sum[d][d] += 1;
    return sum;
  }
};

/// Calls visit(control point, product of its weights, products of its weights with the slope along each axis)
/// for the (order + 1)^D control points of a voxel; for none where the support is not inside the grid.
template <int D, class Visit>
void forEachPointOfSupport(const AlignedField<D>& field, const std::array<int, D>& voxel, Visit&& visit)
{
  const int taps = field.order + 1;
  std::array<int, D> start;
  std::array<std::array<double, 4>, D> weight{}, slope{};
  std::size_t supportSize = 1;
  for (int d = 0; d < D; ++d) {
    const FieldAxis& axis = field.axes[d];
    const double index = axis.first + axis.step * voxel[d], behind = index - (field.order - 1) / 2.0;
    if (behind < 0 || behind >= axis.points - field.order)
      return;
    start[d] = static_cast<int>(std::floor(behind));
    for (int k = 0; k < taps; ++k) {
      weight[d][k] = centredSpline(field.order, index - (start[d] + k));
      slope[d][k] = centredSplineSlope(field.order, index - (start[d] + k));
    }
    supportSize *= static_cast<std::size_t>(taps);
  }
  for (std::size_t s = 0; s < supportSize; ++s) {
    std::size_t rest = s, point = 0, stride = 1;
    std::array<double, D> indexSlope;
    indexSlope.fill(1);
    double product = 1;
    for (int d = 0; d < D; ++d) {
      const std::size_t k = rest % taps;
      rest /= taps;
      point += stride * (static_cast<std::size_t>(start[d]) + k);
      stride *= static_cast<std::size_t>(field.axes[d].points);
      product *= weight[d][k];
      for (int a = 0; a < D; ++a)
        indexSlope[a] *= a == d ? slope[d][k] : weight[d][k];
    }
    visit(point, product, indexSlope);
  }
}

template <int D>
NaiveField<D> naiveField(const AlignedField<D>& field, const std::vector<double>& coefficients,
                         const std::array<int, D>& voxel)
{
  NaiveField<D> sum;
  forEachPointOfSupport<D>(
      field, voxel, [&](std::size_t point, double product, const std::array<double, D>& indexSlope) {
        for (int c = 0; c < D; ++c) {
          const double coefficient = coefficients[c * field.pointCount() + point];
          sum.displacementMm[c] += product * coefficient;
          for (int a = 0; a < D; ++a)
            for (int j = 0; j < D; ++j)
              sum.derivative[c][j] += indexSlope[a] * field.indexFromOffset[a][j] * coefficient;
        }
      });
  return sum;
}

/// Calls visit(position in memory, voxel) for all voxels of the field, x fastest.
template <int D, class Visit>
void forEachVoxel(const AlignedField<D>& field, Visit&& visit)
{
  std::array<int, D> voxel{};
  for (std::size_t v = 0; v < field.voxelCount(); ++v) {
    visit(v, voxel);
    for (int d = 0; d < D && ++voxel[d] == field.axes[d].voxels && d + 1 < D; ++d)
      voxel[d] = 0;
  }
}

/// The field by naiveField, planar: component c of voxel v at c * V + v.
template <int D>
std::vector<double> naiveDisplacementsMm(const AlignedField<D>& field,
                                         const std::vector<double>& coefficients)
{
  const std::size_t voxels = field.voxelCount();
  std::vector<double> values(D * voxels);
  forEachVoxel<D>(field, [&](std::size_t v, const std::array<int, D>& voxel) {
    const NaiveField<D> one = naiveField<D>(field, coefficients, voxel);
    for (int c = 0; c < D; ++c)
      values[c * voxels + v] = one.displacementMm[c];
  });
  return values;
}

/// Where component c of voxel v stands in an array of `components` by `voxels`.
inline std::size_t positionIn(FieldLayout layout, std::size_t components, std::size_t voxels, std::size_t c,
                              std::size_t v)
{
  return layout == FieldLayout::planar ? c * voxels + v : v * components + c;
}

template <int D>
std::string describe(const AlignedField<D>& field)
{
  std::string text = "order " + std::to_string(field.order);
  for (const FieldAxis& axis : field.axes)
    text += ", " + std::to_string(axis.voxels) + " voxels of 1/" + std::to_string(1 / axis.step) + " from "
            + std::to_string(axis.first) + " among " + std::to_string(axis.points) + " points";
  return text;
}

}
