// needs: ITK
#include "Core/Image/Filters/DiscreteGaussian.h"

#include "Testing/Support/Files/ItkImages.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <itkDiscreteGaussianImageFilter.h>
#include <itkGaussianOperator.h>

#include <limits>
#include <numeric>

using namespace tessera;
using namespace tessera::testing;

namespace {

constexpr double floatEpsilon = std::numeric_limits<float>::epsilon();

template <int D>
Image<D> smoothed(const Image<D>& image, const Vec<D>& variances)
{
  std::array<AxisTaps, D> taps;
  for (int d = 0; d < D; ++d)
    taps[d] = smoothingTaps(variances[d], 0, 1, image.geometry.size[d]);
  return applyTaps<D>(host, image, taps, image.geometry);
}

Image<3> smoothedByItk(const Image<3>& image, const Vec<3>& variances)
{
  const auto filter = itk::DiscreteGaussianImageFilter<ItkImage<3>, ItkImage<3>>::New();
  filter->SetInput(toItk<3>(image));
  filter->SetUseImageSpacing(false);
  filter->SetMaximumError(0.1);
  filter->SetVariance(variances.data());
  filter->Update();
  return fromItk<3>(*filter->GetOutput());
}

void expectAsItk(const Size<3>& size, const Vec<3>& variances)
{
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>(size), 11);

  const Image<3> result = smoothed<3>(image, variances);

  const double tolerance = 3 * floatEpsilon * largestMagnitude(image.voxels); // a float rounding an axis
  EXPECT_LE(largestDifference(result.voxels, smoothedByItk(image, variances).voxels), tolerance);
}

/// Axis after axis, the last one first, every value rounded to float.
Image<3> tappedByLoops(Image<3> image, const std::array<AxisTaps, 3>& taps)
{
  for (int axis = 2; axis >= 0; --axis) {
    Image<3> next = image;
    next.geometry.size[axis] = taps[axis].count;
    next.voxels.resize(next.geometry.voxelCount());
    const Size<3>&from = image.geometry.size, &to = next.geometry.size;
    for (std::size_t i = 0; i < next.voxels.size(); ++i) {
      Size<3> index{i % to[0], i / to[0] % to[1], i / to[0] / to[1]};
      const long first = static_cast<long>(index[axis] * taps[axis].step) + taps[axis].first;
      double sum = 0;
      for (std::size_t k = 0; k < taps[axis].weights.size(); ++k) {
        index[axis] = static_cast<std::size_t>(
            std::clamp(first + static_cast<long>(k), 0L, static_cast<long>(from[axis]) - 1));
        sum += taps[axis].weights[k] * image.voxels[(index[2] * from[1] + index[1]) * from[0] + index[0]];
      }
      next.voxels[i] = static_cast<float>(sum);
    }
    image = next;
  }
  return image;
}

}

TEST(DiscreteGaussianTest, AppliesTapsAsLoopsDoWhetherTheyOverlapOrNot)
{
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>({13, 10, 9}), 4);
  Context context;
  context.threads = 2;
  for (const AxisTaps& last : {AxisTaps{{0.25, 0.5, 0.25}, -1, 3, 3}, AxisTaps{{0.25, 0.5, 0.25}, -1, 2, 5},
                               AxisTaps{{1}, 0, 1, 9}}) {
    const std::array<AxisTaps, 3> taps{AxisTaps{{0.5, 0.5}, 0, 2, 7}, AxisTaps{{0.3, 0.7}, 3, 4, 3}, last};

    const Image<3> expected = tappedByLoops(image, taps),
                   result = applyTaps<3>(context, image, taps, expected.geometry);

    EXPECT_EQ(result.voxels, expected.voxels) << last.weights.size() << " of step " << last.step;
  }
}

TEST(DiscreteGaussianTest, MatchesTheKernelOfFactorTwoComputedByHand)
{
  const std::vector<double> kernel = discreteGaussian(1.0, 0.1, 32);

  // exp(-1) I_k(1) for k = 0, 1, 2 is 0.46576, 0.20791, 0.04994; their sum is 0.98146.
  const std::vector<double> expected{0.04994 / 0.98146, 0.20791 / 0.98146, 0.46576 / 0.98146,
                                     0.20791 / 0.98146, 0.04994 / 0.98146};
  ASSERT_EQ(kernel.size(), expected.size());
  for (std::size_t k = 0; k < kernel.size(); ++k)
    EXPECT_NEAR(kernel[k], expected[k], 2e-5); // five digits by hand
}

TEST(DiscreteGaussianTest, HasTheCoefficientsOfItksOperator)
{
  for (const double factor : {1.0, 2.0, 3.0, 4.0, 5.0, 8.0, 20.0, 40.0}) {
    itk::GaussianOperator<double, 3> reference;
    reference.SetDirection(0);
    reference.SetVariance(0.25 * factor * factor);
    reference.SetMaximumError(0.1);
    reference.SetMaximumKernelWidth(32);
    reference.CreateDirectional();

    const std::vector<double> kernel = discreteGaussian(0.25 * factor * factor, 0.1, 32);

    ASSERT_EQ(kernel.size(), reference.Size()) << factor;
    for (std::size_t k = 0; k < kernel.size(); ++k)
      EXPECT_NEAR(kernel[k], reference[k], 1e-14) << factor << " " << k; // rounding of the same series
    EXPECT_NEAR(std::accumulate(kernel.begin(), kernel.end(), 0.0), 1.0, 1e-14);
  }
}

TEST(DiscreteGaussianTest, StaysFiniteWhereItksOperatorOverflows)
{
  const std::vector<double> kernel = discreteGaussian(0.25 * 100 * 100, 0.1, 32);

  EXPECT_EQ(kernel.size(), 65u);
  EXPECT_NEAR(std::accumulate(kernel.begin(), kernel.end(), 0.0), 1.0, 1e-14); // rounding of 65 terms
  EXPECT_NEAR(kernel[0] / kernel[32], std::exp(-0.5 * 32 * 32 / 2500.0),
              1e-3); // a Gaussian to first order in 1 / variance
}

TEST(DiscreteGaussianTest, AgreesWithItkAtAwkwardSizes)
{
  expectAsItk({17, 19, 23}, {1, 1, 1});
  expectAsItk({5, 33, 2}, {0.25, 4, 16});
  expectAsItk({257, 3, 1}, {16, 16, 1});
  expectAsItk({1, 31, 2}, {1, 100, 0.25});
}

TEST(DiscreteGaussianTest, KeepsOnlyEveryAskedVoxelOfTheSmoothedImage)
{
  const Image<2> image = noiseImage<2>(obliqueGeometry<2>({23, 17}), 2), full = smoothed<2>(image, {1, 2.25});
  ImageGeometry<2> geometry = image.geometry;
  geometry.size = {11, 5};

  const Image<2> kept =
      applyTaps<2>(host, image, {smoothingTaps(1, 1, 2, 11), smoothingTaps(2.25, 2, 3, 5)}, geometry);

  for (std::size_t y = 0; y < 5; ++y)
    for (std::size_t x = 0; x < 11; ++x)
      EXPECT_EQ(kept.voxels[x + 11 * y], full.voxels[1 + 2 * x + 23 * (2 + 3 * y)]) << x << " " << y;
}

TEST(DiscreteGaussianTest, GivesTheSameBitsForAnyThreadCount)
{
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>({19, 21, 22}), 5);
  const std::array<AxisTaps, 3> taps{smoothingTaps(1, 0, 1, 19), smoothingTaps(4, 0, 1, 21),
                                     smoothingTaps(1, 0, 1, 22)};
  Context one, three;
  three.threads = 3;

  EXPECT_EQ(applyTaps<3>(one, image, taps, image.geometry).voxels,
            applyTaps<3>(three, image, taps, image.geometry).voxels);
}
