// on: CPU, GPU
#include "Core/Registration/Fields/FieldAdjoint.h"

#include "Components/FieldInterpolators/Shared/SeparableOnCpu.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Testing/Support/Checks/FieldAdjointChecks.h"
#include "Testing/Support/OnGpu/DeviceUnderTest.h"

namespace tessera {
namespace {

using namespace testing;

constexpr std::array<GradientSummation, 4> summations{GradientSummation::fusedMultiplyAdd,
                                                      GradientSummation::kahan, GradientSummation::pichat,
                                                      GradientSummation::doublePrecision};

/// The CPU sums in double precision whatever is asked for.
template <int D>
double boundOf(const Context& context, const AlignedField<D>& field, GradientSummation summation)
{
  return !context.onCuda() || summation == GradientSummation::doublePrecision
             ? doubleBound
             : boundOfSums(field, summation == GradientSummation::fusedMultiplyAdd);
}

/// What a gradient is asked for beside its covectors.
struct Asked {
  GradientSummation summation = GradientSummation::doublePrecision;
  int slabSlices = 0; // 0: the whole at once
  std::vector<float> factors = {};
};

/// On the device of the context; what lies before and behind the gradient must stay. Without what it held
/// already.
template <int D>
std::vector<double> gradientOf(Context context, const AlignedField<D>& field,
                               const std::vector<float>& covectors, const Asked& asked = {})
{
  constexpr std::size_t guard = 512;
  constexpr double before = 0.25;
  std::vector<double> gradient(D * field.pointCount() + 2 * guard, before);
  Buffer<float> from, ofVoxels;
  Buffer<double> to;
  from.fromHost(context, covectors);
  ofVoxels.fromHost(context, asked.factors);
  to.fromHost(context, gradient);
  const int slices = field.axes[D - 1].voxels;
  const std::size_t perSlice = field.voxelCount() / slices;
  for (int first = 0, count = asked.slabSlices ? asked.slabSlices : slices; first < slices; first += count)
    pullBackAlignedField<D>(context, field.slab(first, std::min(count, slices - first)),
                            planes<D>(field, from.span().data() + first * perSlice),
                            asked.factors.empty() ? nullptr : ofVoxels.span().data() + first * perSlice,
                            asked.summation, to.span().data() + guard);
  gradient = to.toHost(context);
  for (std::size_t i = 0; i < guard; ++i) {
    EXPECT_EQ(gradient[i], before) << describe<D>(field);
    EXPECT_EQ(gradient[gradient.size() - 1 - i], before) << describe<D>(field);
  }
  std::vector<double> sum(gradient.begin() + guard, gradient.end() - guard);
  for (double& value : sum)
    value -= before;
  return sum;
}

template <int D>
void expectTheSum(const Context& context, const AlignedField<D>& field)
{
  const std::vector<float> covectors = randomCovectors<D>(field, 1);
  const NaiveGradient expected = naiveGradient<D>(field, covectors);
  for (const GradientSummation summation : summations)
    expectGradient<D>(field, gradientOf<D>(context, field, covectors, {summation}), expected,
                      boundOf(context, field, summation),
                      "summation " + std::to_string(static_cast<int>(summation)));
}

using FieldAdjointTest = DeviceTest;

TEST_F(FieldAdjointTest, IsTheSumOverVoxelsAtAwkwardSizesAndSpacings)
{
  for (const AlignedField<3>& field : adjointVolumes())
    expectTheSum<3>(context, field);
  for (const AlignedField<2>& field : adjointPlanes())
    expectTheSum<2>(context, field);
  if (!context.onCuda()) // which has no tiles
    return;
  expectTheSum<3>(context, coveredField<3>({131, 97, 203}, {5, 5, 5}, {0.2, 0, 0.6}, 3));
  expectTheSum<3>(context, coveredField<3>({331, 7, 5}, {3, 3, 3}, {0.4, 0, 0.7}, 3));
  expectTheSum<3>(context, coveredField<3>({7, 5, 1203}, {3, 2, 1}, {0.4, 0, 0.7}, 3));
  expectTheSum<3>(context, coveredField<3>({150, 140, 130}, {60, 45, 50}, {0.4, 0, 0.7}, 3));
  expectTheSum<2>(context, coveredField<2>({701, 503}, {16, 9.3}, {0.4, 0.2}, 3));
}

TEST_F(FieldAdjointTest, IsTheAdjointOfDisplacements)
{
  const AlignedField<3> field = coveredField<3>({37, 29, 31}, {5.37, 3, 5}, {0.3, 0.7, 0.1}, 3);
  const std::vector<double> coefficients = randomCoefficients<3>(field, 2, 1);
  const std::vector<float> covectors = randomCovectors<3>(field, 2);
  Context cpu = threads(2);
  std::vector<float> displacements(3 * field.voxelCount());
  separableDisplacements<3>(cpu, field, coefficients.data(),
                            {displacements.data(), FieldLayout::planar, nullptr});

  const std::vector<double> gradient = gradientOf<3>(context, field, covectors);

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
void expectFactorsMultiply(const Context& context, const AlignedField<D>& field, int slabSlices = 0)
{
  const FactoredCovectors<D> given(field);
  for (const GradientSummation summation : summations)
    EXPECT_EQ(gradientOf<D>(context, field, given.covectors, {summation, slabSlices, given.factors}),
              gradientOf<D>(context, field, given.products, {summation, slabSlices}))
        << describe<D>(field) << ", summation " << static_cast<int>(summation);
}

TEST_F(FieldAdjointTest, FactorsAreAsIfCovectorsHadBeenMultiplied)
{
  for (const AlignedField<3>& field : adjointVolumes())
    expectFactorsMultiply<3>(context, field);
  for (const AlignedField<2>& field : adjointPlanes())
    expectFactorsMultiply<2>(context, field);
  expectFactorsMultiply<3>(context, coveredField<3>({131, 97, 103}, {5, 4, 6}, {0.2, 0, 0.6}, 3));
  expectFactorsMultiply<3>(context, coveredField<3>({67, 35, 41}, {5.37, 3, 5}, {0.3, 0.7, 0.1}, 3), 9);
}

TEST_F(FieldAdjointTest, SlabsAddUp)
{
  const AlignedField<3> field = coveredField<3>({67, 35, 41}, {5.37, 3, 5}, {0.3, 0.7, 0.1}, 3);
  const std::vector<float> covectors = randomCovectors<3>(field, 3);
  expectGradient<3>(field, gradientOf<3>(context, field, covectors, {GradientSummation::doublePrecision, 9}),
                    naiveGradient<3>(field, covectors), doubleBound, "slabs");
}

TEST_F(FieldAdjointTest, WhatWasBeforeGoesIfAsked)
{
  AlignedField<3> field = coveredField<3>({67, 35, 41}, {5.37, 3, 5}, {0.3, 0.7, 0.1}, 3);
  const std::vector<float> covectors = randomCovectors<3>(field, 3);
  Buffer<float> from;
  from.fromHost(context, covectors);
  for (const int points : {static_cast<int>(field.axes[1].points), 3}) { // with and without support
    field.axes[1].points = points;
    const auto gradientAfter = [&](double value, GradientBefore before) {
      Buffer<double> gradient;
      gradient.fromHost(context, std::vector<double>(3 * field.pointCount(), value));
      pullBackAlignedField<3>(context, field, planes<3>(field, from.span().data()), nullptr,
                              GradientSummation::fusedMultiplyAdd, gradient.span().data(), before);
      return gradient.toHost(context);
    };
    const std::vector<double> stays = gradientAfter(0, GradientBefore::stays);
    EXPECT_EQ(gradientAfter(NAN, GradientBefore::goes), stays) << points << " points";
    EXPECT_EQ(stays == std::vector<double>(stays.size()), points == 3);
  }
}

TEST_F(FieldAdjointTest, RepeatsBitForBitForAnyThreadCount)
{
  const AlignedField<3> field = coveredField<3>({131, 97, 103}, {5, 4, 6}, {0.2, 0, 0.6}, 3);
  const std::vector<float> covectors = randomCovectors<3>(field, 5);
  for (const GradientSummation summation : summations)
    for (const int threadCount : {1, 3})
      EXPECT_EQ(gradientOf<3>(contextUnderTest(threadCount), field, covectors, {summation}),
                gradientOf<3>(context, field, covectors, {summation}))
          << threadCount << " threads";
}

}
}
