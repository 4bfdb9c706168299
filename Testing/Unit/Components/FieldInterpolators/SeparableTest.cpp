// needs: GPU
#include "Components/FieldInterpolators/Separable.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/OnGpu/OnGpu.h"

namespace tessera {
namespace {

using namespace testing;

constexpr double largestCoefficient = 20;
const std::vector<std::array<double, 3>> spacings3{
    {5, 5, 5}, {3, 5, 7}, {5.37, 5.37, 5.37}, {21.7, 1, 2.5}, {1, 40, 1}};
const std::vector<std::array<double, 2>> spacings2{{5, 5}, {3, 21.7}, {1, 5.37}};
const std::vector<int> orders{1, 2, 3};

template <int D>
FieldFunction<D> displacements()
{
  return onGpu<D>("Separable", D, [](auto&... arguments) { Separable<D>().displacements(arguments...); });
}

template <int D>
FieldFunction<D> jacobians()
{
  return onGpu<D>("Separable", D * D, [](auto&... arguments) { Separable<D>().jacobians(arguments...); });
}

template <int D>
FieldFunction<D> determinants()
{
  return onGpu<D>("Separable", 1,
                  [](auto&... arguments) { Separable<D>().jacobianDeterminants(arguments...); });
}

/// About ten roundings to single on the way of a value among control points of at most 20: points, weights,
/// sums.
double roundings(double)
{
  return 10 * singleRounding(largestCoefficient);
}

/// A slope by the grid index is a sum of 64 products of at most 20 * 2/3, some ten roundings each; one by mm
/// about a fifth of it.
template <int D>
double slopeRoundings()
{
  return 30 * singleRounding(largestCoefficient);
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
      ASSERT_NEAR(matrices[entry * voxels + v], expected[entry / D][entry % D], slopeRoundings<D>())
          << describe(field) << ": voxel " << v;
      largest = std::max(largest, std::abs(expected[entry / D][entry % D]));
    }
    const double product =
        D * D * std::pow(largest, D - 1); // the derivative of a determinant by its entries, in all
    ASSERT_NEAR(volumes[v], determinant(expected), product * slopeRoundings<D>())
        << describe(field) << ": voxel " << v;
  });
}

TEST(SeparableTest, DisplacementsOnCudaAreTheDirectSum)
{
  TESSERA_NEEDS_GPU();
  for (const auto& field : awkwardFields<3>(spacings3, orders))
    expectNaiveDisplacements<3>(displacements<3>(), field, roundings);
  for (const auto& field : awkwardFields<2>(spacings2, orders))
    expectNaiveDisplacements<2>(displacements<2>(), field, roundings);
}

TEST(SeparableTest, FieldsOfManyBlocksOnCudaAreTheDirectSum)
{
  TESSERA_NEEDS_GPU();
  for (const auto& field : {coveredField<3>({331, 47, 5}, {3, 3, 3}, {0.4, 0, 0.7}, 3),
                            coveredField<3>({7, 203, 6}, {5, 4, 5}, {0.1, 0.9, 0}, 3),
                            coveredField<3>({70, 41, 11}, {1, 1, 1}, {0.25, 0.5, 0.75}, 3),
                            coveredField<3>({336, 47, 5}, {3, 5, 3}, {0.4, 0, 0.7}, 3),
                            coveredField<3>({72, 41, 11}, {1, 1, 1}, {0, 0.5, 0.75}, 3)})
    expectNaiveDisplacements<3>(displacements<3>(), field, roundings);
  expectNaiveDisplacements<2>(displacements<2>(), coveredField<2>({515, 130}, {6.5, 5}, {0.4, 0.1}, 3),
                              roundings);
}

TEST(SeparableTest, DerivativesOnCudaAreTheDirectSum)
{
  TESSERA_NEEDS_GPU();
  for (const auto& field : awkwardFields<3>(spacings3, orders))
    expectNaiveDerivatives<3>(field);
  for (const auto& field : awkwardFields<2>(spacings2, orders))
    expectNaiveDerivatives<2>(field);
  expectNaiveDerivatives<3>(coveredField<3>({135, 150, 5}, {5, 4.2, 3}, {0.4, 0, 0.7}, 3));
}

TEST(SeparableTest, JacobiansOnCudaMatchFiniteDifferencesOfDisplacements)
{
  TESSERA_NEEDS_GPU();
  expectJacobiansAreFiniteDifferences(displacements<3>(), jacobians<3>(), 10 * singleRounding(1));
}

TEST(SeparableTest, WeightsOnCudaSumToOneAndAffineFunctionsAreReproduced)
{
  TESSERA_NEEDS_GPU();
  const AlignedField<3> field = coveredField<3>({67, 19, 23}, {5.37, 3, 7}, {0.3, 0.6, 0.9}, 3);
  expectPartitionOfUnity<3>(displacements<3>(), field, 10 * singleRounding(1));
  expectAffineFunctionReproduced<3>(displacements<3>(), field, 10 * singleRounding(16));
}

TEST(SeparableTest, EveryLayoutOnCudaHoldsTheSameBits)
{
  TESSERA_NEEDS_GPU();
  const AlignedField<3> field = coveredField<3>({67, 29, 13}, {5.37, 3, 7}, {0.3, 0.6, 0.9}, 3);
  for (const FieldLayout layout : {FieldLayout::interleaved, FieldLayout::padded}) {
    for (const int width : {67, 72}) // 72: rows of whole sectors of 32 bytes
      expectSameInLayout<3>(displacements<3>(),
                            coveredField<3>({width, 29, 13}, {5.37, 3, 7}, {0.3, 0.6, 0.9}, 3), 3, layout);
    for (const int width : {45, 48})
      expectSameInLayout<2>(displacements<2>(), coveredField<2>({width, 23}, {5, 7}, {0.3, 0.6}, 3), 2,
                            layout);
  }
  expectSameInLayout<3>(jacobians<3>(), field, 9, FieldLayout::interleaved);
  expectSameInLayout<3>(determinants<3>(), field, 1, FieldLayout::interleaved);
}

TEST(SeparableTest, BricksWithoutMaskOnCudaAreLeftAlone)
{
  TESSERA_NEEDS_GPU();
  const AlignedField<3> field = coveredField<3>({301, 97, 31}, {5, 4.3, 6}, {0.1, 0.7, 0.3}, 3);
  for (const FieldLayout layout : {FieldLayout::planar, FieldLayout::interleaved, FieldLayout::padded})
    for (const int width : {301, 304})
      expectOnlyMaskedBricks<3>(displacements<3>(),
                                coveredField<3>({width, 97, 31}, {5, 4.3, 6}, {0.1, 0.7, 0.3}, 3), 3, layout);
  expectOnlyMaskedBricks<3>(jacobians<3>(), field, 9, FieldLayout::planar);
  expectOnlyMaskedBricks<3>(determinants<3>(), field, 1, FieldLayout::planar);
}

TEST(SeparableTest, TwoRunsOnCudaGiveTheSameBits)
{
  TESSERA_NEEDS_GPU();
  const AlignedField<3> field = coveredField<3>({150, 61, 47}, {5, 5, 5}, {0.3, 0.6, 0.9}, 3);
  const std::vector<double> coefficients = randomCoefficients<3>(field, largestCoefficient, 5);
  EXPECT_EQ(filled<3>(displacements<3>(), field, coefficients, 3),
            filled<3>(displacements<3>(), field, coefficients, 3));
  EXPECT_EQ(filled<3>(determinants<3>(), field, coefficients, 1),
            filled<3>(determinants<3>(), field, coefficients, 1));
}

TEST(SeparableTest, ErrorsOnCudaAreOnAverageBelowHalfAMillionthVoxel)
{
  TESSERA_NEEDS_GPU();
  const AlignedField<3> field = coveredField<3>({64, 33, 35}, {5, 5, 5}, {0.3, 0.6, 0.9}, 3);
  std::vector<double> coefficients = randomCoefficients<3>(field, largestCoefficient, 7);
  for (double& coefficient : coefficients)
    coefficient = static_cast<float>(coefficient);
  const std::vector<double> expected = naiveDisplacementsMm<3>(field, coefficients);
  const std::vector<float> values = filled<3>(displacements<3>(), field, coefficients, 3);
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    sum += std::abs(values[i] - expected[i]);
  EXPECT_LT(sum / static_cast<double>(values.size()), 5e-7);
}

TEST(SeparableTest, AGridWithoutAnySupportIsTheIdentityOnCuda)
{
  TESSERA_NEEDS_GPU();
  AlignedField<3> field = coveredField<3>({17, 5, 7}, {5, 5, 5}, {0, 0, 0}, 3);
  field.axes[1].points = 2;
  const std::vector<double> coefficients = randomCoefficients<3>(field, largestCoefficient, 9);
  for (const float value : filled<3>(displacements<3>(), field, coefficients, 3))
    ASSERT_EQ(value, 0);
  for (const float value : filled<3>(determinants<3>(), field, coefficients, 1))
    ASSERT_NEAR(value, 1, 10 * singleRounding(1));
}

TEST(SeparableTest, RefusesGridsFinerThanTheVoxels)
{
  EXPECT_EQ(Separable<3>().refusal(coveredField<3>({9, 9, 9}, {5, 0.5, 1}, {0, 0, 0}, 3)),
            "a grid spacing of 0.5 voxels along y, less than one");
  EXPECT_EQ(Separable<3>().refusal(coveredField<3>({9, 9, 9}, {5.37, 1, 40}, {0, 0, 0}, 2)), "");
}

TEST(SeparableTest, JacobiansDoNotFitThePaddedLayout)
{
  Context context = threads(1);
  const AlignedField<3> field = coveredField<3>({9, 9, 9}, {5, 5, 5}, {0, 0, 0}, 3);
  EXPECT_EQ(errorText(
                [&] {
                  Separable<3>().jacobians(context, field, {}, {nullptr, FieldLayout::padded, nullptr});
                },
                ExitCode::usage),
            "Jacobians: the padded layout: it has room for 4 values. Allowed: planar or interleaved.");
}

}
}
