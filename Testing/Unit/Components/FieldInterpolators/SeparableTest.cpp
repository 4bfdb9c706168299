// on: CPU, GPU
#include "Components/FieldInterpolators/Separable.h"

#include "Testing/Support/OnGpu/FieldsUnderTest.h"

namespace tessera {
namespace {

using namespace testing;

constexpr double largestCoefficient = 20;
const std::vector<int> orders{1, 2, 3};

template <int D>
FieldFunction<D> displacements()
{
  return underTest<D>("Separable", D, [](auto&... arguments) { Separable<D>().displacements(arguments...); });
}

template <int D>
FieldFunction<D> jacobians()
{
  return underTest<D>("Separable", D * D, [](auto&... arguments) { Separable<D>().jacobians(arguments...); });
}

template <int D>
FieldFunction<D> determinants()
{
  return underTest<D>("Separable", 1,
                      [](auto&... arguments) { Separable<D>().jacobianDeterminants(arguments...); });
}

bool onCpu()
{
  return deviceUnderTest().kind == DeviceKind::cpu;
}

/// The CPU sums in double precision (64 terms of at most 20) and rounds once to single. On CUDA about ten
/// roundings are on the way of a value: points, weights, sums.
double roundings(double value)
{
  return onCpu() ? singleRounding(value) + 64 * largestCoefficient * 0x1p-52
                 : 10 * singleRounding(largestCoefficient);
}

/// On CUDA a slope by the grid index is a sum of 64 products of at most 20 * 2/3, some ten roundings each;
/// one by mm about a fifth of it.
double slopeRoundings(double value)
{
  return onCpu() ? roundings(value) : 30 * singleRounding(largestCoefficient);
}

template <int D>
void expectNaiveDerivatives(const AlignedField<D>& field)
{
  const std::vector<double> coefficients = randomCoefficients<D>(field, largestCoefficient, 8);
  const std::vector<float> matrices = filled<D>(jacobians<D>(), field, coefficients, D * D),
                           volumes = filled<D>(determinants<D>(), field, coefficients, 1);
  const std::size_t voxels = field.voxelCount();
  forEachVoxel<D>(field, [&](std::size_t v, const std::array<int, D>& voxel) {
    const Matrix<D> expected = naiveField<D>(field, coefficients, voxel).jacobian();
    double largest = 1;
    for (int entry = 0; entry < D * D; ++entry) {
      const double slope = expected[entry / D][entry % D];
      ASSERT_NEAR(matrices[entry * voxels + v], slope, slopeRoundings(slope))
          << describe(field) << ": voxel " << v;
      largest = std::max(largest, std::abs(slope));
    }
    const double product =
        D * D * std::pow(largest, D - 1); // the derivative of a determinant by its entries, in all
    ASSERT_NEAR(volumes[v], determinant(expected),
                product * slopeRoundings(0) + roundings(determinant(expected)))
        << describe(field) << ": voxel " << v;
  });
}

using SeparableTest = DeviceTest;

TEST_F(SeparableTest, DerivativesAreTheDirectSum)
{
  for (const auto& field : awkwardFields<3>({{5, 5, 5}, {21.7, 3, 5.37}, {3, 5, 7}, {1, 40, 1}}, orders))
    expectNaiveDerivatives<3>(field);
  for (const auto& field : awkwardFields<2>({{5, 5.37}, {3, 21.7}, {1, 5.37}}, orders))
    expectNaiveDerivatives<2>(field);
  expectNaiveDerivatives<3>(coveredField<3>({135, 150, 5}, {5, 4.2, 3}, {0.4, 0, 0.7}, 3));
}

TEST_F(SeparableTest, JacobiansMatchFiniteDifferencesOfDisplacements)
{
  expectJacobiansAreFiniteDifferences(displacements<3>(), jacobians<3>(),
                                      (onCpu() ? 1 : 10) * singleRounding(1));
}

TEST_F(SeparableTest, EveryLayoutOfDerivativesHoldsTheSameBits)
{
  const AlignedField<3> field =
      shifted<3>(coveredField<3>({67, 29, 13}, {5.37, 3, 7}, {0.3, 0.6, 0.9}, 3), -0.7);
  expectSameInLayout<3>(jacobians<3>(), field, 9, FieldLayout::interleaved);
  expectSameInLayout<3>(determinants<3>(), field, 1, FieldLayout::interleaved);
  expectSameInLayout<2>(jacobians<2>(), coveredField<2>({37, 19}, {5, 5.37}, {0.1, 0.2}, 3), 4,
                        FieldLayout::interleaved);
}

TEST_F(SeparableTest, BricksWithoutMaskAreLeftAlone)
{
  const AlignedField<3> field = coveredField<3>({301, 97, 31}, {5, 4.3, 6}, {0.1, 0.7, 0.3}, 3);
  for (const FieldLayout layout : {FieldLayout::planar, FieldLayout::interleaved})
    expectOnlyMaskedBricks<3>(displacements<3>(), field, 3, layout);
  expectOnlyMaskedBricks<3>(jacobians<3>(), field, 9, FieldLayout::planar);
  expectOnlyMaskedBricks<3>(determinants<3>(), field, 1, FieldLayout::planar);
}

TEST_F(SeparableTest, GivesTheSameBitsAgainAndForAnyNumberOfThreads)
{
  const AlignedField<3> field = coveredField<3>({129, 65, 140}, {5, 5.37, 3}, {0.1, 0.2, 0.3}, 3);
  expectNoMatterOfThreads<3>(displacements<3>(), field, 3);
  expectNoMatterOfThreads<3>(determinants<3>(), field, 1);
  expectNoMatterOfThreads<2>(jacobians<2>(), coveredField<2>({129, 300}, {5, 5.37}, {0.1, 0.2}, 3), 4);
}

TEST_F(SeparableTest, AGridWithoutAnySupportIsTheIdentity)
{
  AlignedField<3> field = coveredField<3>({17, 5, 7}, {5, 5, 5}, {0, 0, 0}, 3);
  for (const int points : {2, 3}) {
    field.axes[1].points = points;
    const std::vector<double> coefficients = randomCoefficients<3>(field, largestCoefficient, 9);
    for (const float value : filled<3>(displacements<3>(), field, coefficients, 3))
      ASSERT_EQ(value, 0);
    for (const float value : filled<3>(determinants<3>(), field, coefficients, 1))
      ASSERT_NEAR(value, 1, 10 * singleRounding(1));
  }
}

}
}
