// needs: ITK
#include "Components/Interpolators/BSplineInterpolator.h"

#include "Components/Interpolators/LinearInterpolator.h"
#include "Core/Image/Filters/BSplinePrefilter.h"
#include "Testing/Support/Checks/InterpolatorChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/ItkImages.h"
#include "Testing/Support/ParameterText.h"

#include <itkBSplineInterpolateImageFunction.h>

#include <limits>

using namespace tessera;
using namespace tessera::testing;

namespace {

constexpr double floatEpsilon = std::numeric_limits<float>::epsilon();

template <int D>
BSplineInterpolator<D> interpolatorOf(int order)
{
  return BSplineInterpolator<D>(
      parametersOf("(BSplineInterpolationOrder " + std::to_string(order) + ")", D, 1, "Interpolator0"));
}

template <int D>
BSplineInterpolator<D> resamplerOf(int order)
{
  return BSplineInterpolator<D>(parametersOf("(FinalBSplineInterpolationOrder " + std::to_string(order) + ")",
                                             D, 1, "ResampleInterpolator0"),
                                InterpolatorUse::resampling);
}

template <int D>
void expectAsItk(const Size<D>& size, int order)
{
  SCOPED_TRACE(std::to_string(D) + "D, order " + std::to_string(order));
  using Reference = itk::BSplineInterpolateImageFunction<ItkImage<D>, double, double>;
  const Image<D> image = noiseImage<D>(obliqueGeometry<D>(size), 21);
  const auto itkImage = toItk<D>(image);
  const auto reference = Reference::New();
  reference->SetSplineOrder(order);
  reference->SetInputImage(itkImage);
  // Weights and coefficients are single; the sum of |weight| is 1, that of |derivative| at most 2 an axis,
  // spacing above 1 mm.
  const double tolerance =
      16 * D * floatEpsilon * largestMagnitude(bsplineCoefficients<D>(host, image, order));
  BSplineInterpolator<D> interpolator = interpolatorOf<D>(order);

  const Interpolated<D> result = interpolate<D>(interpolator, image, scatteredIndices<D>(size, 2000, 3));

  std::size_t insideCount = 0;
  for (std::size_t i = 0; i < result.index.size(); ++i) {
    const typename Reference::PointType point(result.pointMm(i).data());
    const bool inside = reference->IsInsideBuffer(point);
    ASSERT_EQ(result.inside[i] != 0, inside) << i;
    insideCount += inside;
    const double value = inside ? reference->Evaluate(point) : 0;
    const typename Reference::CovariantVectorType none(0.0),
        gradient = inside ? reference->EvaluateDerivative(point) : none;
    ASSERT_NEAR(result.values[i], value, tolerance) << i;
    ASSERT_EQ(result.values[i], result.valuesAlone[i]) << i;
    for (int d = 0; d < D; ++d)
      ASSERT_NEAR(result.gradients[d][i], gradient[d], 2 * tolerance) << "axis " << d << " of point " << i;
  }
  EXPECT_GT(insideCount, result.index.size() / 2);
  EXPECT_LT(insideCount, result.index.size());
}

}

TEST(BSplineInterpolatorTest, AgreesWithItkInValueAndGradientUpToHalfAVoxelBeyondTheBorder)
{
  for (int order = 2; order <= 5; ++order) {
    expectAsItk<3>({17, 11, 13}, order);
    expectAsItk<2>({31, 8}, order);
    expectAsItk<4>({8, 7, 6, 9}, order);
  }
}

TEST(BSplineInterpolatorTest, ForResultImagesAgreesWithItkToTheLastBitOfAFloat)
{
  using Reference = itk::BSplineInterpolateImageFunction<ItkImage<3>, double, double>;
  const Size<3> size{17, 11, 13};
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>(size), 21);
  const auto itkImage = toItk<3>(image);
  for (int order = 0; order <= 5; ++order) {
    const auto reference = Reference::New();
    reference->SetSplineOrder(order);
    reference->SetInputImage(itkImage);
    BSplineInterpolator<3> interpolator = resamplerOf<3>(order);

    const Interpolated<3> result = interpolate<3>(interpolator, image, scatteredIndices<3>(size, 2000, 3));

    for (std::size_t i = 0; i < result.index.size(); ++i) {
      const Reference::PointType point(result.pointMm(i).data());
      if (!reference->IsInsideBuffer(point))
        continue;
      const double value = reference->Evaluate(point);
      // half the distance of floats, and 64 sums of doubles
      ASSERT_NEAR(result.valuesAlone[i], value,
                  0.5 * floatEpsilon * std::abs(value) + 1e-13 * largestMagnitude(image.voxels))
          << "order " << order << ", point " << i;
    }
  }
}

TEST(BSplineInterpolatorTest, AgreesWithItkAtOrderOneOnWholeIndicesToo)
{
  // At whole indices the slope jumps: the cell must be chosen as ITK chooses it.
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>({17, 11, 13}), 21);
  using Reference = itk::BSplineInterpolateImageFunction<ItkImage<3>, double, double>;
  const auto itkImage = toItk<3>(image);
  const auto reference = Reference::New();
  reference->SetSplineOrder(1);
  reference->SetInputImage(itkImage);
  const std::vector<Vec<3>> indices = scatteredIndices<3>(image.geometry.size, 2000, 3);
  BSplineInterpolator<3> interpolator = interpolatorOf<3>(1);

  const Interpolated<3> result = interpolate<3>(interpolator, image, indices);

  const double tolerance =
      16 * floatEpsilon * largestMagnitude(image.voxels); // a rounding for each of some ten float operations
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const Reference::PointType point(result.pointMm(i).data());
    if (!reference->IsInsideBuffer(point))
      continue;
    EXPECT_NEAR(result.values[i], reference->Evaluate(point), tolerance) << i;
    for (int d = 0; d < 3; ++d)
      EXPECT_NEAR(result.gradients[d][i], reference->EvaluateDerivative(point)[d], tolerance) << i;
  }
}

TEST(BSplineInterpolatorTest, PassesThroughTheVoxels)
{
  const Image<2> image = noiseImage<2>(obliqueGeometry<2>({9, 7}), 5);
  std::vector<Vec<2>> indices;
  forEachIndex<2>(image.geometry.size, [&](const Vec<2>& index, std::size_t) { indices.push_back(index); });
  for (int order = 0; order <= 5; ++order) {
    BSplineInterpolator<2> interpolator = interpolatorOf<2>(order);

    const Interpolated<2> result = interpolate<2>(interpolator, image, indices);

    const double tolerance =
        16 * floatEpsilon * largestMagnitude(bsplineCoefficients<2>(host, image, order)); // as above
    EXPECT_LE(largestDifference(result.valuesAlone, image.voxels), tolerance) << "order " << order;
  }
}

TEST(BSplineInterpolatorTest, HasTheGradientOfItsValues)
{
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>({12, 13, 14}), 5);
  const std::vector<Vec<3>> indices{{3.3, 4.4, 5.6}, {0.2, 11.7, 6.5}, {-0.3, 3.2, 13.3}};
  const double stepMm = 0.01;
  for (int order = 2; order <= 5; ++order) {
    BSplineInterpolator<3> interpolator = interpolatorOf<3>(order);
    const Interpolated<3> result = interpolate<3>(interpolator, image, indices);
    const double largest = largestMagnitude(bsplineCoefficients<3>(host, image, order));
    for (std::size_t i = 0; i < indices.size(); ++i)
      for (int d = 0; d < 3; ++d) {
        std::vector<double> coordinates[3];
        for (int e = 0; e < 3; ++e)
          coordinates[e] = {result.mm[e][i] - (e == d ? stepMm : 0), result.mm[e][i] + (e == d ? stepMm : 0)};
        const ListSamples<3> points{{coordinates[0].data(), coordinates[1].data(), coordinates[2].data()}, 2};
        float values[2];
        std::uint8_t inside[2];
        interpolator.evaluate(host, points, values, nullptr, inside);
        const double slope = (static_cast<double>(values[1]) - values[0]) / (2 * stepMm);
        // Roundings over the step, and the third derivative (order 2: a jump of the second) times step
        // squared.
        EXPECT_NEAR(result.gradients[d][i], slope, largest * (8 * floatEpsilon / stepMm + stepMm * stepMm))
            << order << " " << i << " " << d;
      }
  }
}

TEST(BSplineInterpolatorTest, IsTheLinearInterpolatorBitForBitAtOrderOne)
{
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>({17, 19, 23}), 5);
  std::vector<Vec<3>> indices = scatteredIndices<3>(image.geometry.size, 3000, 8);
  for (Vec<3>& index : indices)
    for (double& i : index)
      i += i == std::floor(i) ? 0.25 : 0; // the last voxel itself is the linear interpolator's own case
  BSplineInterpolator<3> spline = interpolatorOf<3>(1);
  LinearInterpolator<3> linear(parametersOf("(X 1)"));

  const Interpolated<3> a = interpolate<3>(spline, image, indices),
                        b = interpolate<3>(linear, image, indices);

  EXPECT_EQ(a.values, b.values);
  EXPECT_EQ(a.gradients, b.gradients);
  EXPECT_EQ(a.inside, b.inside);
}

TEST(BSplineInterpolatorTest, MirrorsImagesThinnerThanItsSupport)
{
  for (int order = 2; order <= 5; ++order) {
    const Image<2> thin{obliqueGeometry<2>({2, 3}), {1, 2, 3, 4, 5, 7}};
    Image<2> period{thin.geometry, {}}; // several mirrored periods, which mirror on at their ends
    const std::size_t mirrors = 8;
    period.geometry.size = {2 * mirrors * 1 + 2, 2 * mirrors * 2 + 3};
    period.voxels.resize(period.geometry.voxelCount());
    const std::size_t rowOf[4] = {0, 1, 2, 1};
    forEachIndex<2>(period.geometry.size, [&](const Vec<2>& index, std::size_t offset) {
      const std::size_t x = static_cast<std::size_t>(index[0]) % 2,
                        y = rowOf[static_cast<std::size_t>(index[1]) % 4];
      period.voxels[offset] = thin.voxels[x + 2 * y];
    });
    const std::vector<Vec<2>> indices{{-0.45, -0.4}, {0.3, 2.4}, {1.4, 1.1}};
    std::vector<Vec<2>> same = indices;
    for (Vec<2>& index : same)
      index = {index[0] + 8, index[1] + 16};
    BSplineInterpolator<2> a = interpolatorOf<2>(order), b = interpolatorOf<2>(order);

    const Interpolated<2> result = interpolate<2>(a, thin, indices),
                          expected = interpolate<2>(b, period, same);

    EXPECT_LE(largestDifference(result.values, expected.values), 16 * floatEpsilon * 100)
        << order; // coefficients below 100 in single
  }
}

TEST(BSplineInterpolatorTest, HasNoGradientAtOrderZero)
{
  EXPECT_FALSE(interpolatorOf<3>(0).hasGradient());
  EXPECT_TRUE(interpolatorOf<3>(1).hasGradient());
}

TEST(BSplineInterpolatorTest, ReadsTheOrderOfEachUse)
{
  const Image<2> image = noiseImage<2>(obliqueGeometry<2>({9, 7}), 5);
  const std::vector<Vec<2>> indices{{3.3, 2.2}};
  const Parameters parameters = parametersOf("(BSplineInterpolationOrder 2 4)", 2, 2, "Interpolator0");
  BSplineInterpolator<2> matching(parameters), resampling(parameters, InterpolatorUse::resampling);
  BSplineInterpolator<2> second = interpolatorOf<2>(2), third = resamplerOf<2>(3);

  EXPECT_EQ(interpolate<2>(matching, image, indices).values, interpolate<2>(second, image, indices).values);
  EXPECT_EQ(interpolate<2>(resampling, image, indices).values,
            interpolate<2>(third, image, indices).values); // its default
}

TEST(BSplineInterpolatorTest, RefusesOrdersAboveFive)
{
  const std::string message = errorText([] { interpolatorOf<3>(6); });

  EXPECT_PRED2(contains, message, "text:1");
  EXPECT_PRED2(contains, message, "Allowed:");
}
