#pragma once

#include "Core/Registration/Fields/FieldAdjoint.h"
#include "Core/Registration/Fields/FieldAdjointPlan.h"
#include "Testing/Support/Checks/FieldChecks.h"

namespace tessera::testing {

/// Uniform in [-1, 1), planar.
template <int D>
std::vector<float> randomCovectors(const AlignedField<D>& field, std::uint64_t seed)
{
  std::vector<float> values(D * field.voxelCount());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] =
        static_cast<float>(2 * unitUniform(randomWords(Draw{seed}, static_cast<std::uint32_t>(i), 0)[0]) - 1);
  return values;
}

template <int D>
std::array<const float*, D> planes(const AlignedField<D>& field, const float* covectors)
{
  std::array<const float*, D> of;
  for (int c = 0; c < D; ++c)
    of[c] = covectors + c * field.voxelCount();
  return of;
}

/// Covectors and their factors, one a voxel, some of them 0 or -0; and the covectors multiplied by them.
template <int D>
struct FactoredCovectors {
  std::vector<float> covectors, factors, products;

  explicit FactoredCovectors(const AlignedField<D>& field)
      : covectors(randomCovectors<D>(field, 7)), factors(field.voxelCount()), products(covectors.size())
  {
    const std::vector<float> random = randomCovectors<D>(field, 8);
    for (std::size_t v = 0; v < factors.size(); ++v)
      factors[v] = v % 7 == 3 ? 0 : v % 7 == 5 ? -0.0f : 3 * random[v];
    for (std::size_t i = 0; i < products.size(); ++i)
      products[i] = factors[i % factors.size()] * covectors[i];
  }
};

/// The gradient of one voxel after the other, and the sum of absolute terms of each control point: what
/// errors are measured by.
struct NaiveGradient {
  std::vector<double> sum, magnitude;
};

template <int D>
NaiveGradient naiveGradient(const AlignedField<D>& field, const std::vector<float>& covectors)
{
  const std::size_t points = field.pointCount(), voxels = field.voxelCount();
  NaiveGradient gradient{std::vector<double>(D * points), std::vector<double>(D * points)};
  forEachVoxel<D>(field, [&](std::size_t v, const std::array<int, D>& voxel) {
    forEachPointOfSupport<D>(field, voxel, [&](std::size_t point, double product, const auto&) {
      for (int c = 0; c < D; ++c) {
        gradient.sum[c * points + point] += product * covectors[c * voxels + v];
        gradient.magnitude[c * points + point] += std::abs(product * covectors[c * voxels + v]);
      }
    });
  });
  return gradient;
}

/// A bound on the error of sums in double precision, which are rounded a few hundred times at most.
constexpr double doubleBound = 1e-13;

/// A bound on the error of sums in single precision: three weights and as many sums between the axes are
/// rounded once each. With `everyTerm`, each sum is also rounded after each of its terms.
template <int D>
double boundOfSums(const AlignedField<D>& field, bool everyTerm)
{
  double roundings = 2 * D + 2;
  for (const FieldAxis& axis : field.axes)
    roundings += everyTerm ? std::min<double>(axis.voxels, (field.order + 1) / axis.step + 1) : 0;
  return roundings * 0x1p-24;
}

/// No value is off by more than `bound` of its sum of absolute terms, and what an index of some tens is
/// rounded by.
template <int D>
void expectGradient(const AlignedField<D>& field, const std::vector<double>& gradient,
                    const NaiveGradient& expected, double bound, const std::string& what)
{
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i)
    if (!(std::abs(gradient[i] - expected.sum[i]) <= bound * expected.magnitude[i] + 1e-13) && ++wrong == 1)
      ADD_FAILURE() << what << ", " << describe<D>(field) << ": value " << i << " is " << gradient[i]
                    << " not " << expected.sum[i] << ", by "
                    << std::abs(gradient[i] - expected.sum[i]) / expected.magnitude[i] << " of its terms";
  EXPECT_EQ(wrong, 0u) << what << ", " << describe<D>(field);
}

/// Spacings, orders and phases that need care: 1 voxel, fractions of one, several tiles, wider than the
/// image.
inline std::vector<AlignedField<3>> adjointVolumes()
{
  std::vector<AlignedField<3>> fields =
      awkwardFields<3>({{5, 5, 5}, {1, 3, 21.7}, {5.37, 1, 3}, {21.7, 5.37, 1}, {3, 40, 5}}, {1, 2, 3});
  fields.push_back(coveredField<3>({67, 35, 41}, {5, 4, 3}, {0.1, 0.9, 0.3}, 3));
  fields.push_back(coveredField<3>({40, 33, 30}, {1, 1, 1}, {0, 0.999999999999999, 0.5}, 3));
  fields.push_back(coveredField<3>({35, 18, 34}, {300, 300, 300}, {0.2, 0.99, 0.5}, 3));
  return fields;
}

inline std::vector<AlignedField<2>> adjointPlanes()
{
  std::vector<AlignedField<2>> fields = awkwardFields<2>({{5, 3}, {1, 21.7}, {5.37, 1}}, {1, 2, 3});
  fields.push_back(coveredField<2>({101, 57}, {4, 7}, {0.1, 0.9}, 3));
  return fields;
}

}
