// needs: ITK
#include "Core/Image/Filters/BSplinePrefilter.h"

#include "Core/Compute/Math/BSplineKernel.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/ItkImages.h"
#include "Testing/Support/Naive/NaiveLineFilter.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <itkBSplineDecompositionImageFilter.h>

#include <limits>

using namespace tessera;
using namespace tessera::testing;

namespace {

constexpr double floatEpsilon = std::numeric_limits<float>::epsilon();

template <int D>
std::vector<double> decomposedByItk(const Image<D>& image, int order)
{
  using Coefficients = itk::Image<double, D>;
  const auto filter = itk::BSplineDecompositionImageFilter<ItkImage<D>, Coefficients>::New();
  filter->SetSplineOrder(order);
  filter->SetInput(toItk<D>(image));
  filter->Update();
  const double* const first = filter->GetOutput()->GetBufferPointer();
  return {first, first + image.voxels.size()};
}

template <int D>
void expectAsItk(const Size<D>& size, int order)
{
  const Image<D> image = noiseImage<D>(obliqueGeometry<D>(size), 3);
  const std::vector<double> expected = decomposedByItk<D>(image, order);
  const double largest = largestMagnitude(expected);

  std::vector<double> values(image.voxels.begin(), image.voxels.end());
  bsplineDecompose<D>(Context{}, values, size, order);
  const std::vector<float> coefficients = bsplineCoefficients<D>(host, image, order);

  ASSERT_EQ(coefficients.size(), expected.size() + coefficientPadding);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(values[i], expected[i], 1e-9 * largest)
        << "order " << order << " at " << i; // where ITK cuts its start sum off
    ASSERT_NEAR(coefficients[i], expected[i], 8 * D * floatEpsilon * largest)
        << "order " << order << " at " << i; // amplified by later axes
  }
}

/// The spline's value at a voxel: the weights of neighbouring coefficients, mirrored at the borders.
template <int Order>
double splineAt(const std::vector<double>& c, int x)
{
  double w[Order + 1], sum = 0;
  bsplineWeights<Order, double>((Order - 1) / 2.0 + (Order % 2 == 0 ? 0.5 : 0.0), w);
  const int last = static_cast<int>(c.size()) - 1;
  for (int k = 0; k <= Order; ++k) {
    int at = std::abs(x - Order / 2 + k);
    at = at > last ? 2 * last - at : at;
    sum += w[k] * c[at];
  }
  return sum;
}

template <int Order>
void expectSplinePassesThroughValues()
{
  const std::vector<double> values{3, -1, 4, 1, -5, 9, 2, 6, -5, 3, 5};
  std::vector<double> c = values;
  bsplineDecompose<2>(Context{}, c, {values.size(), 1}, Order);
  for (int x = 0; x < static_cast<int>(values.size()); ++x)
    EXPECT_NEAR(splineAt<Order>(c, x), values[x], 1e-10 * 10)
        << Order; // the start sum is cut off at 1e-10 of values below 10
}

}

TEST(BSplinePrefilterTest, AgreesWithItkAtAwkwardSizes)
{
  for (int order = 2; order <= 5; ++order) {
    expectAsItk<3>({17, 19, 23}, order);
    expectAsItk<3>({2, 33, 1}, order);
    expectAsItk<2>({65, 3}, order);
    expectAsItk<2>({5, 16}, order);
  }
}

TEST(BSplinePrefilterTest, MakesSplinesThatPassThroughTheValues)
{
  expectSplinePassesThroughValues<2>();
  expectSplinePassesThroughValues<3>();
  expectSplinePassesThroughValues<4>();
  expectSplinePassesThroughValues<5>();
}

TEST(BSplinePrefilterTest, SolvesTwoVoxelsAsByHand)
{
  std::vector<double> values{4, 10}; // c0 * 2/3 + c1 * 1/3 = 4, c1 * 2/3 + c0 * 1/3 = 10

  bsplineDecompose<2>(Context{}, values, {2, 1}, 3);

  EXPECT_NEAR(values[0], -2, 1e-13); // rounding
  EXPECT_NEAR(values[1], 16, 1e-13);
}

TEST(BSplinePrefilterTest, IsTheFilterOfItsExponentials)
{
  for (int order = 2; order <= 5; ++order)
    for (const std::size_t length : {2, 3, 5, 33, 70}) {
      const Image<2> line = noiseImage<2>(obliqueGeometry<2>({length, 1}), length);
      std::vector<double> coefficients(line.voxels.begin(), line.voxels.end());

      bsplineDecompose<2>(Context{}, coefficients, {length, 1}, order);
      const std::vector<double> expected =
          filteredByDefinition(splineFilter(order), LineEnds::mirrored, line.voxels);

      for (std::size_t i = 0; i < length; ++i)
        ASSERT_NEAR(coefficients[i], expected[i], 1e-8 * 200)
            << order << " " << length; // the start sum is cut off at 1e-10 times gain
    }
}

TEST(BSplinePrefilterTest, LeavesOrdersZeroAndOneAndSingleVoxels)
{
  const Image<2> image = noiseImage<2>(obliqueGeometry<2>({3, 2}), 1),
                 one = noiseImage<2>(obliqueGeometry<2>({1, 1}), 1);

  std::vector<float> linear = bsplineCoefficients<2>(host, image, 1),
                     single = bsplineCoefficients<2>(host, one, 3);
  linear.resize(6);
  single.resize(1);

  EXPECT_EQ(linear, image.voxels);
  EXPECT_EQ(single, one.voxels);
}

TEST(BSplinePrefilterTest, RefusesOtherOrders)
{
  std::vector<double> values(4);
  EXPECT_EQ(errorText([&] {
              bsplineDecompose<2>(Context{}, values, {2, 2}, 6);
            }),
            "B-spline prefilter: order 6: not supported. Allowed: 0 to 5.");
}

TEST(BSplinePrefilterTest, GivesTheSameBitsForAnyThreadCount)
{
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>({37, 41, 43}), 5);
  Context one, three;
  three.threads = 3;

  EXPECT_EQ(bsplineCoefficients<3>(one, image, 3), bsplineCoefficients<3>(three, image, 3));
}
