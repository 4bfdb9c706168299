// needs: GPU
#include "Core/Registration/Fields/FieldAdjoint.h"

#include "Core/Compute/Memory/Buffer.h"
#include "Testing/Support/Checks/FieldAdjointChecks.h"
#include "Testing/Support/OnGpu/GpuTest.h"

namespace tessera {
namespace {

using namespace testing;

constexpr double before = 0.25; // what the gradient holds already

/// On the first CUDA device; what lies before and behind the gradient must stay. Without `before`.
template <int D>
std::vector<double> gradientOnGpu(const AlignedField<D>& field, const std::vector<float>& covectors,
                                  GradientSummation summation, int slabSlices = 0,
                                  const std::vector<float>& factors = {})
{
  constexpr std::size_t guard = 512;
  Context context = makeContext({DeviceKind::cuda, 0}, 1);
  std::vector<double> gradient(D * field.pointCount() + 2 * guard, before);
  Buffer<float> from(context, covectors.size());
  Buffer<double> to(context, gradient.size());
  from.fromHost(context, covectors);
  Buffer<float> ofVoxels(context, factors.size());
  ofVoxels.fromHost(context, factors);
  to.fromHost(context, gradient);
  const int slices = field.axes[D - 1].voxels;
  const std::size_t perSlice = field.voxelCount() / slices;
  for (int first = 0, count = slabSlices ? slabSlices : slices; first < slices; first += count)
    pullBackAlignedField<D>(context, field.slab(first, std::min(count, slices - first)),
                            planes<D>(field, from.span().data() + first * perSlice),
                            factors.empty() ? nullptr : ofVoxels.span().data() + first * perSlice, summation,
                            to.span().data() + guard);
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

constexpr std::array<GradientSummation, 4> summations{GradientSummation::fusedMultiplyAdd,
                                                      GradientSummation::kahan, GradientSummation::pichat,
                                                      GradientSummation::doublePrecision};

template <int D>
double boundOf(const AlignedField<D>& field, GradientSummation summation)
{
  return summation == GradientSummation::doublePrecision
             ? 1e-13 // a few hundred roundings to double at most
             : boundOfSums(field, summation == GradientSummation::fusedMultiplyAdd);
}

template <int D>
void expectTheCpusGradient(const AlignedField<D>& field)
{
  const std::vector<float> covectors = randomCovectors<D>(field, 1);
  Context context = threads(2);
  NaiveGradient expected = naiveGradient<D>(field, covectors);
  std::fill(expected.sum.begin(), expected.sum.end(), 0.0);
  pullBackAlignedField<D>(context, field, planes<D>(field, covectors.data()), nullptr,
                          GradientSummation::doublePrecision, expected.sum.data());
  for (const GradientSummation summation : summations)
    expectGradient<D>(field, gradientOnGpu<D>(field, covectors, summation), expected,
                      boundOf(field, summation), "summation " + std::to_string(static_cast<int>(summation)));
}

TEST(FieldAdjointOnCudaTest, IsTheCpusAtAwkwardSizesAndSpacings)
{
  TESSERA_NEEDS_GPU();
  for (const AlignedField<3>& field : adjointVolumes())
    expectTheCpusGradient<3>(field);
  for (const AlignedField<2>& field : adjointPlanes())
    expectTheCpusGradient<2>(field);
}

TEST(FieldAdjointOnCudaTest, IsTheCpusWithManyTiles)
{
  TESSERA_NEEDS_GPU();
  expectTheCpusGradient<3>(coveredField<3>({131, 97, 203}, {5, 5, 5}, {0.2, 0, 0.6}, 3));
  expectTheCpusGradient<3>(coveredField<3>({331, 7, 5}, {3, 3, 3}, {0.4, 0, 0.7}, 3));
  expectTheCpusGradient<3>(coveredField<3>({7, 5, 1203}, {3, 2, 1}, {0.4, 0, 0.7}, 3));
  expectTheCpusGradient<3>(coveredField<3>({150, 140, 130}, {60, 45, 50}, {0.4, 0, 0.7}, 3));
  expectTheCpusGradient<2>(coveredField<2>({701, 503}, {16, 9.3}, {0.4, 0.2}, 3));
}

TEST(FieldAdjointOnCudaTest, SlabsAddUp)
{
  TESSERA_NEEDS_GPU();
  const AlignedField<3> field = coveredField<3>({67, 35, 41}, {5.37, 3, 5}, {0.3, 0.7, 0.1}, 3);
  const std::vector<float> covectors = randomCovectors<3>(field, 3);
  const NaiveGradient expected = naiveGradient<3>(field, covectors);
  expectGradient<3>(field, gradientOnGpu<3>(field, covectors, GradientSummation::doublePrecision, 9),
                    expected, 1e-13, "slabs");
}

TEST(FieldAdjointOnCudaTest, WhatWasBeforeGoesIfAsked)
{
  TESSERA_NEEDS_GPU();
  AlignedField<3> field = coveredField<3>({67, 35, 41}, {5.37, 3, 5}, {0.3, 0.7, 0.1}, 3);
  const std::vector<float> covectors = randomCovectors<3>(field, 3);
  Context context = makeContext({DeviceKind::cuda, 0}, 1);
  Buffer<float> from(context, covectors.size());
  from.fromHost(context, covectors);
  for (const int points : {static_cast<int>(field.axes[1].points), 3}) { // with and without support
    field.axes[1].points = points;
    const auto gradientOf = [&](double value, GradientBefore before) {
      Buffer<double> gradient(context, 3 * field.pointCount());
      gradient.fromHost(context, std::vector<double>(gradient.size(), value));
      pullBackAlignedField<3>(context, field, planes<3>(field, from.span().data()), nullptr,
                              GradientSummation::fusedMultiplyAdd, gradient.span().data(), before);
      return gradient.toHost(context);
    };
    EXPECT_EQ(gradientOf(NAN, GradientBefore::goes), gradientOf(0, GradientBefore::stays))
        << points << " points";
  }
}

template <int D>
void expectFactorsMultiply(const AlignedField<D>& field, int slabSlices = 0)
{
  const FactoredCovectors<D> given(field);
  for (const GradientSummation summation : summations)
    EXPECT_EQ(gradientOnGpu<D>(field, given.covectors, summation, slabSlices, given.factors),
              gradientOnGpu<D>(field, given.products, summation, slabSlices))
        << describe<D>(field) << ", summation " << static_cast<int>(summation);
}

TEST(FieldAdjointOnCudaTest, FactorsAreAsIfCovectorsHadBeenMultiplied)
{
  TESSERA_NEEDS_GPU();
  for (const AlignedField<3>& field : adjointVolumes())
    expectFactorsMultiply<3>(field);
  for (const AlignedField<2>& field : adjointPlanes())
    expectFactorsMultiply<2>(field);
  expectFactorsMultiply<3>(coveredField<3>({131, 97, 103}, {5, 4, 6}, {0.2, 0, 0.6}, 3));
  expectFactorsMultiply<3>(coveredField<3>({67, 35, 41}, {5.37, 3, 5}, {0.3, 0.7, 0.1}, 3), 9);
}

TEST(FieldAdjointOnCudaTest, RepeatsBitForBit)
{
  TESSERA_NEEDS_GPU();
  const AlignedField<3> field = coveredField<3>({131, 97, 103}, {5, 4, 6}, {0.2, 0, 0.6}, 3);
  const std::vector<float> covectors = randomCovectors<3>(field, 5);
  for (const GradientSummation summation : summations)
    EXPECT_EQ(gradientOnGpu<3>(field, covectors, summation), gradientOnGpu<3>(field, covectors, summation));
}

}
}
