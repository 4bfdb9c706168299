#pragma once

#include "Testing/Support/Checks/FieldChecks.h"
#include "Testing/Support/ParameterText.h"

// The promises of the cubic tile methods of the CPU, for INSTANTIATE_TYPED_TEST_SUITE_P. A subject names
// the method:
//   struct Subject { template <int D> using Method = ...; static constexpr const char* name = "..."; };
namespace tessera::testing {

template <class Subject>
class CpuTileMethodTest : public ::testing::Test {
};

TYPED_TEST_SUITE_P(CpuTileMethodTest);

template <class Subject, int D>
typename Subject::template Method<D> tileMethod()
{
  return typename Subject::template Method<D>(parametersOf("", D, 1));
}

template <class Subject, int D>
void tileDisplacements(Context& context, const AlignedField<D>& field,
                       const std::vector<double>& coefficients, const FieldTarget& target)
{
  tileMethod<Subject, D>().displacements(context, field, {coefficients.data(), nullptr}, target);
}

/// About ten roundings to single on the way of a value among control points of at most 20: fractions, points,
/// interpolations.
inline double afterSomeRoundings(double)
{
  return 10 * singleRounding(20);
}

inline const std::vector<std::array<double, 3>> tiles3{{5, 5, 5}, {3, 5, 7}, {1, 2, 32}, {9, 4, 6}};
inline const std::vector<std::array<double, 2>> tiles2{{5, 5}, {3, 17}, {1, 32}};

TYPED_TEST_P(CpuTileMethodTest, DisplacementsAreTheDirectSumInSinglePrecision)
{
  for (const AlignedField<3>& field : awkwardFields<3>(tiles3, {3}))
    expectNaiveDisplacements<3>((tileDisplacements<TypeParam, 3>), field, afterSomeRoundings);
  for (const AlignedField<2>& field : awkwardFields<2>(tiles2, {3}))
    expectNaiveDisplacements<2>((tileDisplacements<TypeParam, 2>), field, afterSomeRoundings);
}

TYPED_TEST_P(CpuTileMethodTest, GivesTheWeightsOfOneControlPointComputedByHand)
{
  // On a control point: 2/3 of it and 1/6 of each neighbour along an axis; half-way: 1/48, 23/48, 23/48,
  // 1/48.
  const AlignedField<3> field = coveredField<3>({3, 1, 1}, {2, 1, 1}, {0, 0, 0}, 3);
  std::vector<double> coefficients(3 * field.pointCount());
  coefficients[(1 * 4 + 1) * 5 + 2] =
      48; // of the first component, at (2, 1, 1); voxel x lies at grid index (1 + x / 2, 1, 1)

  const std::vector<float> values = filled<3>((tileDisplacements<TypeParam, 3>), field, coefficients, 3);

  const double along[3] = {1 / 6.0, 23 / 48.0, 2 / 3.0};
  ASSERT_EQ(field.axes[0].points, 5);
  for (int x = 0; x < 3; ++x) {
    const double expected = 48 * along[x] * 4 / 9;
    EXPECT_NEAR(values[x], expected, 10 * singleRounding(expected));
    EXPECT_EQ(values[3 + x], 0);
  }
}

TYPED_TEST_P(CpuTileMethodTest, WeightsSumToOneAndAffineFunctionsAreReproduced)
{
  const AlignedField<3> field = coveredField<3>({17, 19, 23}, {5, 3, 7}, {0.3, 0.6, 0.9}, 3);
  expectPartitionOfUnity<3>((tileDisplacements<TypeParam, 3>), field,
                            0); // every interpolation between ones is one
  expectAffineFunctionReproduced<3>((tileDisplacements<TypeParam, 3>), field, afterSomeRoundings(20));
  const AlignedField<2> plane = coveredField<2>({37, 23}, {5, 3}, {0.3, 0.6}, 3);
  expectPartitionOfUnity<2>((tileDisplacements<TypeParam, 2>), plane, 0);
  expectAffineFunctionReproduced<2>((tileDisplacements<TypeParam, 2>), plane, afterSomeRoundings(20));
}

TYPED_TEST_P(CpuTileMethodTest, OtherLayoutsHoldTheSameValues)
{
  const AlignedField<3> field =
      shifted<3>(coveredField<3>({37, 19, 23}, {5, 9, 3}, {0.1, 0.2, 0.3}, 3), -0.7);
  const AlignedField<2> plane = shifted<2>(coveredField<2>({37, 19}, {5, 9}, {0.1, 0.2}, 3), -0.7);
  for (const FieldLayout layout : {FieldLayout::interleaved, FieldLayout::padded}) {
    expectSameInLayout<3>((tileDisplacements<TypeParam, 3>), field, 3, layout);
    expectSameInLayout<2>((tileDisplacements<TypeParam, 2>), plane, 2, layout);
  }
}

TYPED_TEST_P(CpuTileMethodTest, ComputesOnlyTilesWithVoxelsOfTheMask)
{
  const AlignedField<3> field =
      shifted<3>(coveredField<3>({37, 19, 23}, {5, 9, 3}, {0.1, 0.2, 0.3}, 3), -0.7);
  for (const FieldLayout layout : {FieldLayout::planar, FieldLayout::interleaved, FieldLayout::padded})
    expectOnlyMaskedBricks<3>((tileDisplacements<TypeParam, 3>), field, 3, layout);
  expectOnlyMaskedBricks<2>((tileDisplacements<TypeParam, 2>), coveredField<2>({37, 53}, {5, 5}, {0, 0}, 3),
                            2, FieldLayout::planar);
}

TYPED_TEST_P(CpuTileMethodTest, GivesTheSameBitsForAnyNumberOfThreads)
{
  expectNoMatterOfThreads<3>((tileDisplacements<TypeParam, 3>),
                             coveredField<3>({61, 35, 47}, {5, 4, 3}, {0.1, 0.2, 0.3}, 3), 3);
}

TYPED_TEST_P(CpuTileMethodTest, RefusesOtherOrdersAndOtherSpacings)
{
  const auto refusal = [](double spacingVoxels, int order) {
    return tileMethod<TypeParam, 3>().refusal(
        coveredField<3>({9, 9, 9}, {5, spacingVoxels, 5}, {0, 0, 0}, order));
  };
  EXPECT_EQ(refusal(5, 3), "");
  EXPECT_EQ(refusal(32, 3), "");
  EXPECT_EQ(refusal(5, 2), "a spline order of 2, not 3");
  EXPECT_EQ(refusal(5.5, 3), "a grid spacing of 5.5 voxels along y, not a whole number from 1 to 32");
  EXPECT_EQ(refusal(33, 3), "a grid spacing of 33 voxels along y, not a whole number from 1 to 32");
}

TYPED_TEST_P(CpuTileMethodTest, RunsOnTheCpuOnly)
{
  EXPECT_TRUE((tileMethod<TypeParam, 3>().runsOn(DeviceKind::cpu)));
  EXPECT_FALSE((tileMethod<TypeParam, 3>().runsOn(DeviceKind::cuda)));
  EXPECT_EQ((tileMethod<TypeParam, 2>().name()), TypeParam::name);
}

REGISTER_TYPED_TEST_SUITE_P(CpuTileMethodTest, DisplacementsAreTheDirectSumInSinglePrecision,
                            GivesTheWeightsOfOneControlPointComputedByHand,
                            WeightsSumToOneAndAffineFunctionsAreReproduced, OtherLayoutsHoldTheSameValues,
                            ComputesOnlyTilesWithVoxelsOfTheMask, GivesTheSameBitsForAnyNumberOfThreads,
                            RefusesOtherOrdersAndOtherSpacings, RunsOnTheCpuOnly);

}
