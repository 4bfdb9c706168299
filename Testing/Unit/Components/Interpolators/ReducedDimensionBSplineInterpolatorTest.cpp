#include "Components/Interpolators/ReducedDimensionBSplineInterpolator.h"

#include "Testing/Support/Checks/InterpolatorChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/SeriesScenes.h"

namespace tessera {
namespace {

using namespace testing;

template <int D>
Image<D - 1> sliceOf(const Image<D>& series, std::size_t t)
{
  Image<D - 1> slice{sliceGeometry<D>(series.geometry), {}};
  const auto first = series.voxels.begin() + static_cast<std::ptrdiff_t>(t * slice.geometry.voxelCount());
  slice.voxels.assign(first, first + static_cast<std::ptrdiff_t>(slice.geometry.voxelCount()));
  return slice;
}

/// Every point has the bits of BSplineInterpolator in its slice, of which there are 4.
template <int D>
void expectAnswersOfSlices(const Size<D>& size, InterpolatorUse use, int order)
{
  constexpr int time = D - 1;
  const bool matching = use == InterpolatorUse::matching;
  const std::string value = "BSplineInterpolationOrder " + std::to_string(order) + ")";
  ReducedDimensionBSplineInterpolator<D> interpolator(
      parametersOf(matching ? "(" + value : "(FinalReducedDimension" + value), use);
  BSplineInterpolator<D - 1> ofSlice(parametersOf(matching ? "(" + value : "(Final" + value), use);
  const Image<D> series = noiseImage<D>(geometryOfSeries<D>(size), 3);
  const auto found = interpolate<D>(interpolator, series, scatteredIndices<D>(series.geometry.size, 900, 7));
  for (std::size_t t = 0; t < 4; ++t) {
    std::vector<Vec<D - 1>> indices;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < found.index.size(); ++i)
      if (std::nearbyint(found.index[i][time]) == static_cast<double>(t) && found.index[i][time] < 3.5) {
        std::copy_n(found.index[i].begin(), time, indices.emplace_back().begin());
        places.push_back(i);
      }
    const auto expected = interpolate<D - 1>(ofSlice, sliceOf<D>(series, t), indices);
    ASSERT_GT(places.size(), 50u);
    for (std::size_t k = 0; k < places.size(); ++k) {
      const std::size_t i = places[k];
      ASSERT_EQ(found.inside[i], expected.inside[k]);
      ASSERT_EQ(found.valuesAlone[i], expected.valuesAlone[k]);
      for (int d = 0; d < time && order > 0; ++d)
        ASSERT_EQ(found.gradients[d][i], expected.gradients[d][k]);
      ASSERT_EQ(found.gradients[time][i], 0);
    }
  }
  for (std::size_t i = 0; i < found.index.size(); ++i)
    if (found.index[i][time] < -0.5 || found.index[i][time] >= 3.5) {
      ASSERT_EQ(found.inside[i], 0);
      ASSERT_EQ(found.valuesAlone[i], 0);
    }
}

TEST(ReducedDimensionBSplineInterpolatorTest, AnswersAsTheSplineOfTheNearestSlice)
{
  for (const int order : {0, 1, 2, 3, 5})
    for (const InterpolatorUse use : {InterpolatorUse::matching, InterpolatorUse::resampling}) {
      SCOPED_TRACE(order);
      expectAnswersOfSlices<3>({13, 11, 4}, use, order);
      expectAnswersOfSlices<4>({9, 8, 7, 4}, use, order);
    }
}

TEST(ReducedDimensionBSplineInterpolatorTest, RefusesOrdersWithoutGradientAndImagesThatAreNoSeries)
{
  using Interpolator = ReducedDimensionBSplineInterpolator<3>;
  EXPECT_PRED2(contains, errorText([] {
                 Interpolator(parametersOf("(BSplineInterpolationOrder 1 0)", 3, 2)).requireGradients();
               }),
               "at order 0");
  EXPECT_PRED2(contains, errorText([] { Interpolator(parametersOf("(BSplineInterpolationOrder 6)")); }), "6");
  Interpolator interpolator(parametersOf("(A 1)"));
  const auto prepare = [&](const ImageGeometry<3>& geometry) {
    return errorText(
        [&] {
          interpolator.prepareForLevel(host, std::make_shared<Image<3>>(noiseImage<3>(geometry, 1)), 0);
        },
        ExitCode::unreadableInput);
  };
  EXPECT_PRED2(contains, prepare(seriesGeometry({5, 5, 1})), "has 1 slice");
  EXPECT_PRED2(contains, prepare(obliqueGeometry<3>({5, 5, 4})), "mix its last axis");
}

}
}
