#pragma once

#include "Testing/Support/Host.h"
#include "Testing/Support/Scenes/AlignedFields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace tessera::testing {

/// The function under test: fills the target with the field of these coefficients.
template <int D>
using FieldFunction =
    std::function<void(Context&, const AlignedField<D>&, const std::vector<double>&, const FieldTarget&)>;

/// The whole field in this layout; what the function does not write stays at `untouched`.
template <int D>
std::vector<float> filled(const FieldFunction<D>& function, const AlignedField<D>& field,
                          const std::vector<double>& coefficients, int components,
                          FieldLayout layout = FieldLayout::planar, const std::uint8_t* mask = nullptr,
                          int threadCount = 2, float untouched = -777)
{
  Context context = threads(threadCount);
  std::vector<float> values(components * field.voxelCount(), untouched);
  function(context, field, coefficients, {values.data(), layout, mask});
  return values;
}

/// The largest error of a value that was rounded to single precision once.
inline double singleRounding(double value)
{
  return std::abs(value) * 0x1p-24 + 0x1p-149;
}

/// Fields of awkward sizes and the given grid spacings, covered, partly outside and wholly outside.
template <int D>
std::vector<AlignedField<D>> awkwardFields(const std::vector<std::array<double, D>>& spacingsVoxels,
                                           const std::vector<int>& orders)
{
  std::vector<std::array<int, D>> sizes;
  if constexpr (D == 3)
    sizes = {{17, 19, 23}, {1, 64, 64}, {33, 5, 7}};
  else
    sizes = {{17, 23}, {1, 64}, {64, 1}};
  std::vector<AlignedField<D>> fields;
  for (const auto& size : sizes)
    for (const auto& spacingVoxels : spacingsVoxels)
      for (const int order : orders) {
        std::array<double, D> phase;
        for (int d = 0; d < D; ++d)
          phase[d] = std::fmod(0.37 + 0.4 * static_cast<double>(fields.size() + d), 1.0);
        const AlignedField<D> covered = coveredField<D>(size, spacingVoxels, phase, order);
        fields.push_back(covered);
        fields.push_back(shifted<D>(covered, -0.8));
        fields.push_back(shifted<D>(covered, 0.6));
        if (fields.size() % 9 == 3)
          fields.push_back(shifted<D>(covered, 1000));
      }
  return fields;
}

/// Displacements in all voxels against the direct sum; `tolerance(value)` in mm.
template <int D, class Tolerance>
void expectNaiveDisplacements(const FieldFunction<D>& function, const AlignedField<D>& field,
                              Tolerance&& tolerance)
{
  const std::vector<double> coefficients = randomCoefficients<D>(field, 20, 1),
                            expected = naiveDisplacementsMm<D>(field, coefficients);
  const std::vector<float> values = filled<D>(function, field, coefficients, D);
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_NEAR(values[i], expected[i], tolerance(expected[i])) << describe<D>(field) << ": value " << i;
}

/// The planar values stand in another layout at their places, bit for bit.
template <int D>
void expectSameInLayout(const FieldFunction<D>& function, const AlignedField<D>& field, int components,
                        FieldLayout layout)
{
  const std::vector<double> coefficients = randomCoefficients<D>(field, 20, 2);
  const std::size_t voxels = field.voxelCount();
  const std::vector<float> planar = filled<D>(function, field, coefficients, components);
  const std::vector<float> other = filled<D>(function, field, coefficients, components, layout);
  for (std::size_t v = 0; v < voxels; ++v)
    for (int c = 0; c < components; ++c)
      ASSERT_EQ(other[positionIn(layout, components, voxels, c, v)], planar[c * voxels + v])
          << describe<D>(field) << ": voxel " << v;
}

/// Voxels of the mask get their values, the others those or none, and some none.
template <int D>
void expectOnlyMaskedBricks(const FieldFunction<D>& function, const AlignedField<D>& field, int components,
                            FieldLayout layout)
{
  const std::vector<double> coefficients = randomCoefficients<D>(field, 20, 3);
  const std::size_t voxels = field.voxelCount();
  std::vector<std::uint8_t> mask(voxels);
  for (const std::size_t v : {voxels / 7, voxels / 7 + 1, voxels / 2, voxels - 1})
    mask[v] = 1;
  const float untouched = -777;
  const std::vector<float> all = filled<D>(function, field, coefficients, components, layout);
  const std::vector<float> masked =
      filled<D>(function, field, coefficients, components, layout, mask.data(), 2, untouched);
  std::size_t kept = 0;
  for (std::size_t v = 0; v < voxels; ++v)
    for (int c = 0; c < components; ++c) {
      const std::size_t i = positionIn(layout, components, voxels, c, v);
      kept += masked[i] == untouched;
      ASSERT_TRUE(masked[i] == all[i] || (!mask[v] && masked[i] == untouched))
          << describe<D>(field) << ": voxel " << v;
    }
  EXPECT_GT(kept, voxels * components / 2) << describe<D>(field);
}

/// The same bits for one, two and three threads.
template <int D>
void expectNoMatterOfThreads(const FieldFunction<D>& function, const AlignedField<D>& field, int components)
{
  const std::vector<double> coefficients = randomCoefficients<D>(field, 20, 4);
  const std::vector<float> one =
      filled<D>(function, field, coefficients, components, FieldLayout::planar, nullptr, 1);
  for (const int count : {2, 3})
    EXPECT_EQ(filled<D>(function, field, coefficients, components, FieldLayout::planar, nullptr, count), one)
        << describe<D>(field) << ": " << count << " threads";
}

/// All coefficients 1: the weights sum to 1 in every voxel.
template <int D>
void expectPartitionOfUnity(const FieldFunction<D>& function, const AlignedField<D>& field, double tolerance)
{
  const std::vector<double> ones(D * field.pointCount(), 1.0);
  for (const float value : filled<D>(function, field, ones, D))
    ASSERT_NEAR(value, 1, tolerance) << describe<D>(field);
}

/// Coefficients that are an affine function of the control point: the field is that function.
template <int D>
void expectAffineFunctionReproduced(const FieldFunction<D>& function, const AlignedField<D>& field,
                                    double tolerance)
{
  const auto affine = [](int c, const std::array<double, D>& index) {
    double value = 1.5 - c;
    for (int d = 0; d < D; ++d)
      value += (0.25 * d - 0.5 + 0.125 * c) * index[d];
    return value;
  };
  AlignedField<D> grid = field;
  for (FieldAxis& axis : grid.axes)
    axis.voxels = axis.points;
  std::vector<double> coefficients(D * field.pointCount());
  forEachVoxel<D>(grid, [&](std::size_t point, const std::array<int, D>& at) {
    std::array<double, D> index;
    std::copy(at.begin(), at.end(), index.begin());
    for (int c = 0; c < D; ++c)
      coefficients[c * field.pointCount() + point] = affine(c, index);
  });
  const std::vector<float> values = filled<D>(function, field, coefficients, D);
  forEachVoxel<D>(field, [&](std::size_t v, const std::array<int, D>& voxel) {
    std::array<double, D> index;
    for (int d = 0; d < D; ++d)
      index[d] = field.axes[d].first + field.axes[d].step * voxel[d];
    for (int c = 0; c < D; ++c)
      ASSERT_NEAR(values[c * field.voxelCount() + v], affine(c, index), tolerance)
          << describe<D>(field) << ": voxel " << v;
  });
}

/// Jacobians of a field in three dimensions against central differences of its displacements, of which each
/// is off by `displacementErrorMm` at most for coefficients of at most 1 mm.
inline void expectJacobiansAreFiniteDifferences(const FieldFunction<3>& displacements,
                                                const FieldFunction<3>& jacobians, double displacementErrorMm)
{
  // Points move by h along the world's axis j where the lattice moves by h * indexFromOffset[.][j] along the
  // grid's.
  const AlignedField<3> field = coveredField<3>({21, 11, 13}, {5.37, 4, 6}, {0.5, 0.5, 0.5}, 3);
  const std::vector<double> coefficients = randomCoefficients<3>(field, 1, 6);
  const std::size_t voxels = field.voxelCount();
  const std::vector<float> matrices = filled<3>(jacobians, field, coefficients, 9);
  const double stepMm = 0.25;
  for (int j = 0; j < 3; ++j) {
    AlignedField<3> above = field, below = field;
    for (int a = 0; a < 3; ++a) {
      above.axes[a].first += stepMm * field.indexFromOffset[a][j];
      below.axes[a].first -= stepMm * field.indexFromOffset[a][j];
    }
    const std::vector<float> up = filled<3>(displacements, above, coefficients, 3);
    const std::vector<float> down = filled<3>(displacements, below, coefficients, 3);
    std::size_t compared = 0;
    for (std::size_t i = 0; i < 3 * voxels; ++i) {
      const std::size_t c = i / voxels, v = i % voxels;
      if (up[i] == 0 || down[i] == 0)
        continue; // outside
      ++compared;
      const double slope = (double(up[i]) - down[i]) / (2 * stepMm) + (c == static_cast<std::size_t>(j));
      // h^2 / 6 of a third derivative by the index (at most 8 a unit coefficient and axis) times index / mm
      // cubed, and the errors of displacements and of the slope itself.
      const double perMm = 0.4;
      ASSERT_NEAR(matrices[(c * 3 + j) * voxels + v], slope,
                  stepMm * stepMm / 6 * 8 * perMm * perMm * perMm + 2 * displacementErrorMm / stepMm);
    }
    EXPECT_GT(compared, voxels);
  }
}

}
