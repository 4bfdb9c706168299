#include "Core/Registration/Interpolation/InterpolateAtPoint.h"

#include "Components/Interpolators/LinearInterpolator.h"
#include "Components/Interpolators/NearestNeighborInterpolator.h"
#include "Core/Image/Filters/BSplinePrefilter.h"
#include "Testing/Support/Checks/InterpolatorChecks.h"
#include "Testing/Support/Scenes/SeriesScenes.h"

#include <limits>

using namespace tessera;
using namespace tessera::testing;

namespace {

template <int D>
InterpolatorOnCuda<D> asKernelsSeeIt(const Image<D>& image, const std::vector<float>& coefficients, int order)
{
  InterpolatorOnCuda<D> seen;
  seen.coefficients = coefficients.data();
  for (int d = 0; d < D; ++d)
    seen.size[d] = static_cast<int>(image.geometry.size[d]);
  seen.pointToIndex = image.geometry.pointToIndex();
  seen.order = order;
  return seen;
}

/// At each point of `asked`, bit for bit.
template <int D, int Order>
void expectSameBits(const InterpolatorOnCuda<D>& seen, const Interpolated<D>& asked, bool withGradient)
{
  for (std::size_t i = 0; i < asked.index.size(); ++i) {
    float value, gradient[D];
    const bool inside = valueAt<D, Order>(seen, asked.pointMm(i), true, value, gradient);
    ASSERT_EQ(inside, asked.inside[i] != 0) << i;
    ASSERT_EQ(value, asked.valuesAlone[i]) << i;
    for (int d = 0; d < D && withGradient; ++d)
      ASSERT_EQ(gradient[d], asked.gradients[d][i]) << i << " axis " << d;
  }
}

template <int D, int Order>
void expectSplineAnswersAtPoints(const Image<D>& image)
{
  BSplineInterpolator<D> spline(parametersOf("(BSplineInterpolationOrder " + std::to_string(Order) + ")", D));
  const std::vector<float> coefficients =
      Order > 1 ? bsplineCoefficients<D>(host, image, Order) : image.voxels;
  const Interpolated<D> asked =
      interpolate<D>(spline, image, scatteredIndices<D>(image.geometry.size, 3000, Order + 1));

  expectSameBits<D, Order>(asKernelsSeeIt<D>(image, coefficients, Order), asked, Order > 0);
}

template <int D>
void expectAnswersAtPoints(const Size<D>& size)
{
  const Image<D> image = noiseImage<D>(obliqueGeometry<D>(size), 12);
  expectSplineAnswersAtPoints<D, 0>(image);
  expectSplineAnswersAtPoints<D, 1>(image);
  expectSplineAnswersAtPoints<D, 2>(image);
  expectSplineAnswersAtPoints<D, 3>(image);
  expectSplineAnswersAtPoints<D, 4>(image);
  expectSplineAnswersAtPoints<D, 5>(image);

  const std::vector<Vec<D>> indices = scatteredIndices<D>(size, 3000, 8);
  LinearInterpolator<D> linear(parametersOf("", D));
  InterpolatorOnCuda<D> seen = asKernelsSeeIt<D>(image, image.voxels, 1);
  seen.lastVoxelClosesCell = true;
  expectSameBits<D, 1>(seen, interpolate<D>(linear, image, indices), true);

  NearestNeighborInterpolator<D> nearest(parametersOf("", D));
  seen.nearestInDouble = true;
  expectSameBits<D, 0>(seen, interpolate<D>(nearest, image, indices), true);
}

}

TEST(InterpolateAtPointTest, GivesTheBitsOfTheBatches)
{
  expectAnswersAtPoints<3>({17, 11, 13});
  expectAnswersAtPoints<3>({4, 1, 2});
  expectAnswersAtPoints<3>({1, 9, 3});
  expectAnswersAtPoints<3>({6, 7, 1});
  expectAnswersAtPoints<2>({31, 8});
  expectAnswersAtPoints<2>({1, 5});
  expectAnswersAtPoints<2>({2, 1});
}

template <int D, int Order>
void expectSlicesAtPoints(const Size<D>& size)
{
  const auto image = std::make_shared<const Image<D>>(noiseImage<D>(geometryOfSeries<D>(size), 12));
  ReducedDimensionBSplineInterpolator<D> interpolator(
      parametersOf("(BSplineInterpolationOrder " + std::to_string(Order) + ")", D));
  const Interpolated<D> asked =
      interpolate<D>(interpolator, *image, scatteredIndices<D>(size, 3000, Order + 1));
  Image<D - 1> slice{sliceGeometry<D>(image->geometry), {}};
  const std::size_t voxels = slice.geometry.voxelCount();
  std::vector<float> coefficients;
  for (std::size_t t = 0; t < size[D - 1]; ++t) {
    const auto first = image->voxels.begin() + static_cast<std::ptrdiff_t>(t * voxels);
    slice.voxels.assign(first, first + static_cast<std::ptrdiff_t>(voxels));
    const std::vector<float> ofSlice =
        Order > 1 ? bsplineCoefficients<D - 1>(host, slice, Order) : slice.voxels;
    coefficients.insert(coefficients.end(), ofSlice.begin(), // without their padding
                        ofSlice.begin() + static_cast<std::ptrdiff_t>(voxels));
  }
  const SlicedSeriesOnCuda<D> seen{{coefficients.data(), slice.geometry, Order},
                                   Order,
                                   static_cast<long long>(voxels),
                                   static_cast<int>(size[D - 1]),
                                   image->geometry.pointToIndex()};
  for (std::size_t i = 0; i < asked.index.size(); ++i) {
    float value, gradient[D];
    const bool inside = valueAt<D, Order>(seen, asked.pointMm(i), true, value, gradient);
    ASSERT_EQ(inside, asked.inside[i] != 0) << i;
    ASSERT_EQ(value, asked.valuesAlone[i]) << i;
    for (int d = 0; d < D && Order > 0; ++d)
      ASSERT_EQ(gradient[d], asked.gradients[d][i]) << i << " axis " << d;
  }
}

TEST(InterpolateAtPointTest, GivesTheBitsOfTheBatchesOfSeries)
{
  expectSlicesAtPoints<3, 0>({13, 11, 4});
  expectSlicesAtPoints<3, 1>({13, 11, 4});
  expectSlicesAtPoints<3, 3>({13, 11, 4});
  expectSlicesAtPoints<4, 1>({9, 8, 7, 4});
  expectSlicesAtPoints<4, 3>({9, 8, 7, 4});
}

TEST(InterpolateAtPointTest, IsOutsideAndZeroWhereNoVoxelIs)
{
  const Image<2> image = noiseImage<2>(obliqueGeometry<2>({5, 4}), 2);
  const InterpolatorOnCuda<2> seen = asKernelsSeeIt<2>(image, image.voxels, 1);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Vec<2>& index :
       {Vec<2>{-0.5000001, 1}, {4.5, 1}, {1, 3.5}, {nan, 1}, {1, nan}, {1e300, 0}, {0, -1e300}}) {
    float value = 7, gradient[2] = {7, 7};
    EXPECT_FALSE((valueAtIndex<2, 1>(seen, index, true, value, gradient))) << index[0] << " " << index[1];
    EXPECT_EQ(value, 0);
    EXPECT_EQ(gradient[0], 0);
    EXPECT_EQ(gradient[1], 0);
  }
}

TEST(InterpolateAtPointTest, AnswersAtAnIndexInIndexUnits)
{
  const Image<2> image{{{3, 2}, {2, 4}, {5, 6}, identityMatrix<2>()}, {1, 4, 9, 3, 8, 1}};
  const InterpolatorOnCuda<2> seen = asKernelsSeeIt<2>(image, image.voxels, 1);
  float value, gradient[2];

  EXPECT_TRUE((valueAtIndex<2, 1>(seen, {0.5, 0.25}, true, value, gradient)));
  EXPECT_EQ(value, 3.25f);      // rows 2.5 and 5.5
  EXPECT_EQ(gradient[0], 3.5f); // 3 and 5
  EXPECT_EQ(gradient[1], 3.0f);
}
