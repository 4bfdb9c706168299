#include "Core/Registration/Fields/FieldAdjoint.h"

#include "Components/FieldInterpolators/Shared/SeparableOnCpu.h"
#include "Testing/Support/Checks/FieldAdjointChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/AdjointTilesOnCpu.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
std::vector<double> gradientOnCpu(const AlignedField<D>& field, const std::vector<float>& covectors,
                                  int threadCount = 2, const float* factors = nullptr)
{
  Context context = threads(threadCount);
  std::vector<double> gradient(D * field.pointCount());
  pullBackAlignedField<D>(context, field, planes<D>(field, covectors.data()), factors,
                          GradientSummation::fusedMultiplyAdd, gradient.data());
  return gradient;
}

// a few hundred roundings to double at most
constexpr double doubleBound = 1e-13;

TEST(FieldAdjointTest, IsTheSumOverVoxelsAtAwkwardSizesAndSpacings)
{
  for (const AlignedField<3>& field : adjointVolumes()) {
    const std::vector<float> covectors = randomCovectors<3>(field, 1);
    expectGradient<3>(field, gradientOnCpu<3>(field, covectors), naiveGradient<3>(field, covectors),
                      doubleBound, "CPU");
  }
  for (const AlignedField<2>& field : adjointPlanes()) {
    const std::vector<float> covectors = randomCovectors<2>(field, 1);
    expectGradient<2>(field, gradientOnCpu<2>(field, covectors), naiveGradient<2>(field, covectors),
                      doubleBound, "CPU");
  }
}

TEST(FieldAdjointTest, IsTheAdjointOfDisplacements)
{
  const AlignedField<3> field = coveredField<3>({37, 29, 31}, {5.37, 3, 5}, {0.3, 0.7, 0.1}, 3);
  const std::vector<double> coefficients = randomCoefficients<3>(field, 2, 1);
  const std::vector<float> covectors = randomCovectors<3>(field, 2);
  Context context = threads(2);
  std::vector<float> displacements(3 * field.voxelCount());
  separableDisplacements<3>(context, field, coefficients.data(),
                            {displacements.data(), FieldLayout::planar, nullptr});

  const std::vector<double> gradient = gradientOnCpu<3>(field, covectors);

  double ofVoxels = 0, ofPoints = 0, magnitude = 0;
  for (std::size_t i = 0; i < covectors.size(); ++i) {
    ofVoxels += static_cast<double>(displacements[i]) * covectors[i];
    magnitude += std::abs(static_cast<double>(displacements[i]) * covectors[i]);
  }
  for (std::size_t i = 0; i < coefficients.size(); ++i)
    ofPoints += coefficients[i] * gradient[i];
  EXPECT_NEAR(ofPoints, ofVoxels, 8 * singleRounding(magnitude)); // displacements are in single precision
}

template <int D>
void expectFactorsMultiply(const AlignedField<D>& field)
{
  const FactoredCovectors<D> given(field);
  EXPECT_EQ(gradientOnCpu<D>(field, given.covectors, 2, given.factors.data()),
            gradientOnCpu<D>(field, given.products))
      << describe<D>(field);
}

TEST(FieldAdjointTest, FactorsAreAsIfCovectorsHadBeenMultiplied)
{
  for (const AlignedField<3>& field : adjointVolumes())
    expectFactorsMultiply<3>(field);
  for (const AlignedField<2>& field : adjointPlanes())
    expectFactorsMultiply<2>(field);
}

TEST(FieldAdjointTest, SlabsAddUp)
{
  const AlignedField<3> field = coveredField<3>({19, 17, 23}, {5.37, 3, 5}, {0.3, 0.7, 0.1}, 3);
  const std::vector<float> covectors = randomCovectors<3>(field, 3);
  Context context = threads(2);
  std::vector<double> gradient(3 * field.pointCount());
  const std::size_t perSlice = 19 * 17;
  for (int first = 0; first < 23; first += 9) {
    const std::array<const float*, 3> whole = planes<3>(field, covectors.data() + first * perSlice);
    pullBackAlignedField<3>(context, field.slab(first, std::min(9, 23 - first)), whole, nullptr,
                            GradientSummation::doublePrecision, gradient.data());
  }
  expectGradient<3>(field, gradient, naiveGradient<3>(field, covectors), doubleBound, "slabs");
}

TEST(FieldAdjointTest, GridsWithoutAnySupportLeaveTheGradient)
{
  AlignedField<2> field = coveredField<2>({9, 8}, {5, 5}, {0, 0}, 3);
  field.axes[1].points = 3;
  const std::vector<float> covectors = randomCovectors<2>(field, 4);
  EXPECT_EQ(gradientOnCpu<2>(field, covectors), std::vector<double>(2 * field.pointCount()));
}

TEST(FieldAdjointTest, WhatWasBeforeGoesIfAsked)
{
  AlignedField<2> field = coveredField<2>({9, 8}, {5, 5}, {0, 0}, 3);
  const std::vector<float> covectors = randomCovectors<2>(field, 4);
  Context context = threads(2);
  for (const int points : {static_cast<int>(field.axes[1].points), 3}) { // with and without support
    field.axes[1].points = points;
    std::vector<double> gradient(2 * field.pointCount(), NAN);
    pullBackAlignedField<2>(context, field, planes<2>(field, covectors.data()), nullptr,
                            GradientSummation::doublePrecision, gradient.data(), GradientBefore::goes);
    EXPECT_EQ(gradient, gradientOnCpu<2>(field, covectors)) << points << " points";
  }
}

TEST(FieldAdjointTest, IsTheSameForAnyThreadCount)
{
  const AlignedField<3> field = coveredField<3>({41, 30, 65}, {5.37, 3, 4}, {0.3, 0.7, 0.1}, 3);
  const std::vector<float> covectors = randomCovectors<3>(field, 5);
  const std::vector<double> one = gradientOnCpu<3>(field, covectors, 1);
  EXPECT_EQ(gradientOnCpu<3>(field, covectors, 2), one);
  EXPECT_EQ(gradientOnCpu<3>(field, covectors, 3), one);
}

template <int D>
void expectTilesAreTheSum(const AlignedField<D>& field)
{
  if (!adjoint::hasSupport(field))
    return;
  const std::vector<float> covectors = randomCovectors<D>(field, 1);
  const NaiveGradient expected = naiveGradient<D>(field, covectors);
  const auto from = planes<D>(field, covectors.data());
  expectGradient<D>(field, gradientByTiles<D, adjoint::FusedSum>(field, from), expected,
                    boundOfSums(field, 1), "fused tiles");
  expectGradient<D>(field, gradientByTiles<D, adjoint::KahanSum>(field, from), expected,
                    boundOfSums(field, 0), "Kahan's tiles");
  expectGradient<D>(field, gradientByTiles<D, adjoint::PichatSum>(field, from), expected,
                    boundOfSums(field, 0), "Pichat's tiles");
  expectGradient<D>(field, gradientByTiles<D, adjoint::DoubleSum>(field, from), expected, doubleBound,
                    "double tiles");
}

TEST(FieldAdjointTest, TilesOfBlocksAreTheSumWithEverySummation)
{
  const std::vector<AlignedField<3>> volumes = adjointVolumes();
  const std::vector<AlignedField<2>> planes = adjointPlanes();
  for (std::size_t i = 0; i < volumes.size(); i += i + 5 < volumes.size() ? 5 : 1) // all of the last ones
    expectTilesAreTheSum<3>(volumes[i]);
  for (std::size_t i = 0; i < planes.size(); i += 2)
    expectTilesAreTheSum<2>(planes[i]);
}

TEST(FieldAdjointTest, BlocksWithLittleSharedMemoryHaveFewerRows)
{
  const AlignedField<3> field = coveredField<3>({40, 33, 30}, {1, 2, 3}, {0, 0.5, 0.5}, 3);
  const std::vector<float> covectors = randomCovectors<3>(field, 6);
  const std::size_t little = 30 << 10;
  ASSERT_LE((adjoint::Shared<3, double>::bytes(adjoint::planOf<3, adjoint::DoubleSum>(field, little))),
            little);
  expectGradient<3>(field,
                    gradientByTiles<3, adjoint::DoubleSum>(field, planes<3>(field, covectors.data()), little),
                    naiveGradient<3>(field, covectors), doubleBound, "few rows");
}

TEST(FieldAdjointTest, GridsDenserThanVoxelsAreRefusedForCuda)
{
  const AlignedField<2> field = coveredField<2>({9, 8}, {5, 0.6}, {0, 0}, 3);
  EXPECT_PRED2(contains, errorText([&] { adjoint::refuseDenseGrid(field); }), "0.6 voxels along y");
}

}
}
