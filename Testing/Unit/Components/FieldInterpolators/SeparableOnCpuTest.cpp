#include "Components/FieldInterpolators/Shared/SeparableOnCpu.h"

#include "Testing/Support/Checks/FieldChecks.h"
#include "Testing/Support/ErrorText.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
void displacements(Context& context, const AlignedField<D>& field, const std::vector<double>& coefficients,
                   const FieldTarget& target)
{
  separableDisplacements<D>(context, field, coefficients.data(), target);
}

template <int D>
void jacobians(Context& context, const AlignedField<D>& field, const std::vector<double>& coefficients,
               const FieldTarget& target)
{
  separableJacobians<D>(context, field, coefficients.data(), target);
}

template <int D>
void determinants(Context& context, const AlignedField<D>& field, const std::vector<double>& coefficients,
                  const FieldTarget& target)
{
  separableJacobianDeterminants<D>(context, field, coefficients.data(), target);
}

const std::vector<std::array<double, 3>> spacings3{{5, 5, 5}, {3, 5, 7}, {5.37, 5.37, 5.37}, {21.7, 1, 2.5}};
const std::vector<std::array<double, 2>> spacings2{{5, 5}, {3, 21.7}, {1, 5.37}};
const std::vector<int> orders{1, 2, 3};

/// A value is the exact one, summed in double precision (64 terms of at most 20), rounded to single.
double exactlyRounded(double value)
{
  return singleRounding(value) + 64 * 20 * 0x1p-52;
}

/// More voxels than one block holds, and more values than are written through the cache.
AlignedField<3> largeField()
{
  return coveredField<3>({301, 97, 131}, {5, 4.3, 6}, {0.1, 0.7, 0.3}, 3);
}

TEST(SeparableOnCpuTest, GivesTheWeightsOfOneControlPointComputedByHand)
{
  // A voxel on a control point: 2/3 of it and 1/6 of each neighbour along an axis; half-way: 1/48, 23/48,
  // 23/48, 1/48.
  AlignedField<2> field = coveredField<2>({3, 1}, {2, 1}, {0, 0}, 3);
  std::vector<double> coefficients(2 * field.pointCount());
  coefficients[1 * 5 + 2] =
      48; // of the first component, at (2, 1); voxel x lies at grid index (1 + x / 2, 1)

  const std::vector<float> values = filled<2>(displacements<2>, field, coefficients, 2);

  const double along[3] = {1 / 6.0, 23 / 48.0, 2 / 3.0};
  ASSERT_EQ(field.axes[0].points, 5);
  for (int x = 0; x < 3; ++x) {
    EXPECT_FLOAT_EQ(values[x], static_cast<float>(48 * along[x] * 2 / 3));
    EXPECT_EQ(values[3 + x], 0);
  }
}

TEST(SeparableOnCpuTest, DisplacementsAreTheDirectSumRoundedOnce)
{
  for (const AlignedField<3>& field : awkwardFields<3>(spacings3, orders))
    expectNaiveDisplacements<3>(displacements<3>, field, exactlyRounded);
  for (const AlignedField<2>& field : awkwardFields<2>(spacings2, orders))
    expectNaiveDisplacements<2>(displacements<2>, field, exactlyRounded);
}

TEST(SeparableOnCpuTest, ServesGridsFinerThanTheVoxelsAndLatticesThatRunBackwards)
{
  AlignedField<3> fine = coveredField<3>({17, 19, 23}, {0.4, 0.9, 0.7}, {0.2, 0.5, 0}, 3);
  AlignedField<3> backwards = coveredField<3>({17, 19, 23}, {5, 3, 4.2}, {0.2, 0.5, 0}, 2);
  for (FieldAxis& axis : backwards.axes) {
    axis.first += axis.step * (axis.voxels - 1);
    axis.step = -axis.step;
  }

  expectNaiveDisplacements<3>(displacements<3>, fine, exactlyRounded);
  expectNaiveDisplacements<3>(displacements<3>, backwards, exactlyRounded);
}

TEST(SeparableOnCpuTest, IsZeroWhereTheGridHasTooFewControlPoints)
{
  AlignedField<3> field = coveredField<3>({9, 8, 7}, {5, 5, 5}, {0, 0, 0}, 3);
  field.axes[1].points = 3;

  for (const float value : filled<3>(displacements<3>, field, randomCoefficients<3>(field, 20, 1), 3))
    ASSERT_EQ(value, 0);
}

TEST(SeparableOnCpuTest, WeightsSumToOneAndAffineFunctionsAreReproduced)
{
  for (const int order : orders) {
    const AlignedField<3> field = coveredField<3>({17, 19, 23}, {5.37, 3, 21.7}, {0.3, 0.6, 0.9}, order);
    expectPartitionOfUnity<3>(displacements<3>, field, exactlyRounded(1));
    expectAffineFunctionReproduced<3>(displacements<3>, field, exactlyRounded(20)); // no value is larger
    const AlignedField<2> plane = coveredField<2>({37, 23}, {5.37, 3}, {0.3, 0.6}, order);
    expectPartitionOfUnity<2>(displacements<2>, plane, exactlyRounded(1));
    expectAffineFunctionReproduced<2>(displacements<2>, plane, exactlyRounded(20));
  }
}

template <int D>
void expectNaiveDerivatives(const AlignedField<D>& field)
{
  const std::vector<double> coefficients = randomCoefficients<D>(field, 20, 5);
  const std::size_t voxels = field.voxelCount();
  const std::vector<float> matrices = filled<D>(jacobians<D>, field, coefficients, D * D);
  const std::vector<float> values = filled<D>(determinants<D>, field, coefficients, 1);
  forEachVoxel<D>(field, [&](std::size_t v, const std::array<int, D>& voxel) {
    const Matrix<D> expected = naiveField<D>(field, coefficients, voxel).jacobian();
    for (int i = 0; i < D * D; ++i)
      ASSERT_NEAR(matrices[i * voxels + v], expected[i / D][i % D], exactlyRounded(expected[i / D][i % D]))
          << describe<D>(field);
    const double determinantValue = determinant(expected);
    // Products of D entries below 20: D! of them, each with the rounding of its entries.
    ASSERT_NEAR(values[v], determinantValue,
                exactlyRounded(determinantValue) + 6 * 20 * 20 * exactlyRounded(0))
        << describe<D>(field);
  });
}

TEST(SeparableOnCpuTest, JacobiansAndDeterminantsAreTheDirectSumRoundedOnce)
{
  for (const AlignedField<3>& field : awkwardFields<3>({{5, 5, 5}, {21.7, 3, 5.37}}, orders))
    expectNaiveDerivatives<3>(field);
  for (const AlignedField<2>& field : awkwardFields<2>({{5, 5.37}}, orders))
    expectNaiveDerivatives<2>(field);
}

TEST(SeparableOnCpuTest, JacobiansMatchFiniteDifferencesOfDisplacements)
{
  expectJacobiansAreFiniteDifferences(displacements<3>, jacobians<3>, singleRounding(1));
}

TEST(SeparableOnCpuTest, OtherLayoutsHoldTheSameValues)
{
  const AlignedField<3> field =
      shifted<3>(coveredField<3>({37, 19, 23}, {5, 5.37, 3}, {0.1, 0.2, 0.3}, 3), -0.7);
  const AlignedField<2> plane = shifted<2>(coveredField<2>({37, 19}, {5, 5.37}, {0.1, 0.2}, 3), -0.7);
  for (const FieldLayout layout : {FieldLayout::interleaved, FieldLayout::padded}) {
    expectSameInLayout<3>(displacements<3>, field, 3, layout);
    expectSameInLayout<2>(displacements<2>, plane, 2, layout);
    expectSameInLayout<3>(determinants<3>, field, 1, layout);
  }
  expectSameInLayout<3>(jacobians<3>, field, 9, FieldLayout::interleaved);
  expectSameInLayout<2>(jacobians<2>, plane, 4, FieldLayout::interleaved);
}

TEST(SeparableOnCpuTest, RefusesJacobiansInThePaddedLayout)
{
  const AlignedField<3> field = coveredField<3>({4, 4, 4}, {5, 5, 5}, {0, 0, 0}, 3);

  const std::string text = errorText(
      [&] { filled<3>(jacobians<3>, field, randomCoefficients<3>(field, 1, 1), 9, FieldLayout::padded); });

  EXPECT_TRUE(contains(text, "padded")) << text;
  EXPECT_TRUE(contains(text, "Allowed: planar, interleaved.")) << text;
}

TEST(SeparableOnCpuTest, ComputesOnlyBricksWithVoxelsOfTheMask)
{
  const AlignedField<3> field =
      shifted<3>(coveredField<3>({133, 19, 23}, {5, 5.37, 3}, {0.1, 0.2, 0.3}, 3), -0.7);
  for (const FieldLayout layout : {FieldLayout::planar, FieldLayout::interleaved, FieldLayout::padded})
    expectOnlyMaskedBricks<3>(displacements<3>, field, 3, layout);
  expectOnlyMaskedBricks<3>(jacobians<3>, field, 9, FieldLayout::planar);
  expectOnlyMaskedBricks<3>(determinants<3>, field, 1, FieldLayout::planar);
  expectOnlyMaskedBricks<2>(displacements<2>, coveredField<2>({133, 97}, {5, 5}, {0, 0}, 3), 2,
                            FieldLayout::planar);
}

TEST(SeparableOnCpuTest, GivesTheSameBitsForAnyNumberOfThreads)
{
  const AlignedField<3> field = coveredField<3>({129, 65, 140}, {5, 5.37, 3}, {0.1, 0.2, 0.3}, 3);
  expectNoMatterOfThreads<3>(displacements<3>, field, 3);
  expectNoMatterOfThreads<3>(determinants<3>, field, 1);
  expectNoMatterOfThreads<2>(jacobians<2>, coveredField<2>({129, 300}, {5, 5.37}, {0.1, 0.2}, 3), 4);
}

TEST(SeparableOnCpuTest, LargeFieldsAreTheDirectSumInEveryLayout)
{
  const AlignedField<3> field = largeField();
  const std::vector<double> coefficients = randomCoefficients<3>(field, 20, 7);
  const std::size_t voxels = field.voxelCount();
  for (const FieldLayout layout : {FieldLayout::planar, FieldLayout::interleaved, FieldLayout::padded}) {
    const std::vector<float> values = filled<3>(displacements<3>, field, coefficients, 3, layout);
    std::size_t visited = 0;
    forEachVoxel<3>(field, [&](std::size_t v, const std::array<int, 3>& voxel) {
      if (v % 97 != 0 && voxel[0] > 1 && voxel[0] < field.axes[0].voxels - 1)
        return; // the ends of all rows, and some more
      ++visited;
      const NaiveField<3> expected = naiveField<3>(field, coefficients, voxel);
      for (int c = 0; c < 3; ++c)
        ASSERT_NEAR(values[positionIn(layout, 3, voxels, c, v)], expected.displacementMm[c],
                    exactlyRounded(expected.displacementMm[c]))
            << "voxel " << v;
    });
    EXPECT_GT(visited, voxels / 100);
    EXPECT_EQ(std::count(values.begin(), values.end(), -777.0f), 0);
  }
}

}
}
