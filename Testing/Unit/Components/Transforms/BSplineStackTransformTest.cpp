#include "Components/Transforms/BSplineStackTransform.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/SeriesScenes.h"

namespace tessera {
namespace {

using namespace checks;
using namespace testing;

const Parameters gridOf12Mm =
    parametersOf("(FinalGridSpacingInPhysicalUnits 12)\n(GridSpacingSchedule 2 1)", 3, 2, "Transform0");

/// A stack for a series of 4 times with random coefficients, at the first of two levels.
struct Example {
  std::shared_ptr<const Image<3>> series =
      std::make_shared<const Image<3>>(drawSeries(seriesGeometry({26, 22, 4})));
  BSplineStackTransform<3> transform{gridOf12Mm};
  std::vector<double> parameters;

  Example()
  {
    const std::size_t count =
        transform.initialize(host, {series, series, nullptr, nullptr, nullptr, nullptr}).size();
    parameters = randomVector(count, 4);
  }
  /// The transform of one time, alone.
  BSplineTransform<2> ofSlice() const
  {
    BSplineTransform<2> slice(gridOf12Mm);
    const auto image = std::make_shared<Image<2>>();
    const ImageGeometry<3>& g = series->geometry;
    image->geometry = {{g.size[0], g.size[1]},
                       {g.spacingMm[0], g.spacingMm[1]},
                       {g.originMm[0], g.originMm[1]},
                       {{{0.8, -0.6}, {0.6, 0.8}}}};
    slice.initialize(host, {image, image, nullptr, nullptr, nullptr, nullptr});
    return slice;
  }
  /// Inside the series and around it, at all times in any order.
  Points<3> points(std::size_t count) const { return randomPoints<3>(count, 9, {-5, -30, -5}, {60, 25, 15}); }
};

/// Each point is mapped by the transform of the nearest of the times 1.25 + 2.5 k, and keeps its time.
template <int D>
void expectMappedAtItsTime(const BSplineStackTransform<D>& stack, const BSplineTransform<D - 1>& ofTime,
                           std::size_t times, const std::vector<double>& parameters, const Points<D>& points)
{
  const std::size_t each = ofTime.parameterCount();
  ASSERT_EQ(parameters.size(), times * each);

  const Points<D> found = mapped<D>(stack, parameters, points);

  double moved = 0;
  for (std::size_t i = 0; i < points.count(); ++i) {
    const double time = std::clamp(std::round((points.mm[D - 1][i] - 1.25) / 2.5), 0.0, times - 1.0);
    Points<D - 1> one(1), out(1);
    for (int d = 0; d < D - 1; ++d)
      one.mm[d][0] = points.mm[d][i];
    ofTime.map(host, one.list(), std::span(parameters).subspan(static_cast<std::size_t>(time) * each, each),
               out.out());
    for (int d = 0; d < D - 1; ++d) {
      ASSERT_EQ(found.mm[d][i], out.mm[d][0]);
      moved += std::abs(found.mm[d][i] - points.mm[d][i]);
    }
    ASSERT_EQ(found.mm[D - 1][i], points.mm[D - 1][i]);
  }
  EXPECT_GT(moved, 50);
}

TEST(BSplineStackTransformTest, MapsEachPointByTheTransformOfTheNearestTime)
{
  const Example example;
  expectMappedAtItsTime<3>(example.transform, example.ofSlice(), 4, example.parameters, example.points(500));
}

TEST(BSplineStackTransformTest, DerivativesAgreeWithFiniteDifferencesAndAdjoints)
{
  const Example example;
  const Points<3> points = example.points(60);

  expectPullBackIsAdjointOfPushForward<3>(example.transform, example.parameters, points);
  // The map is linear in its parameters, so that only roundings differ.
  expectPushForwardMatchesFiniteDifferences<3>(example.transform, example.parameters, points, 1, 1e-12);
  const Points<3> inner = randomPoints<3>(40, 9, {25, -12, 0.4}, {32, -2, 2.1}); // of one time
  expectSpatialDerivativesMatchFiniteDifferences<3>(example.transform, example.parameters, inner, 1e-4, 1e-7,
                                                    1e-6);
  expectPullBackOfSpatialDerivativesMatchesFiniteDifferences<3>(example.transform, example.parameters, points,
                                                                1, 1e-11);
  expectJacobianTermsMatchNaive<3>(example.transform, example.parameters,
                                   std::vector<double>(example.parameters.size(), 1.7), points);
}

TEST(BSplineStackTransformTest, InFourDimensionsEachTimeHasASplineOfVolumes)
{
  const auto series = std::make_shared<const Image<4>>(Image<4>{geometryOfSeries<4>({12, 11, 9, 3}), {}});
  const auto volume = std::make_shared<const Image<3>>(Image<3>{sliceGeometry<4>(series->geometry), {}});
  const Parameters grid = parametersOf("(FinalGridSpacingInPhysicalUnits 8)", 4, 1, "Transform0"),
                   gridOfVolume = parametersOf("(FinalGridSpacingInPhysicalUnits 8)", 3, 1, "Transform0");
  BSplineStackTransform<4> stack(grid);
  BSplineTransform<3> ofVolume(gridOfVolume);
  const std::size_t count =
      stack.initialize(host, {series, series, nullptr, nullptr, nullptr, nullptr}).size();
  ofVolume.initialize(host, {volume, volume, nullptr, nullptr, nullptr, nullptr});
  const std::vector<double> parameters = randomVector(count, 4);
  const Points<4> points = randomPoints<4>(300, 9, {15, -20, -8, -2}, {40, 5, 6, 9});

  expectMappedAtItsTime<4>(stack, ofVolume, 3, parameters, points);
  expectPullBackIsAdjointOfPushForward<4>(stack, parameters, points);
  expectPushForwardMatchesFiniteDifferences<4>(stack, parameters, points, 1, 1e-12);
  const Points<4> inner = randomPoints<4>(30, 9, {26, -12, -4, 3}, {32, -6, 2, 4.5}); // of one time
  expectSpatialDerivativesMatchFiniteDifferences<4>(stack, parameters, inner, 1e-4, 1e-7, 1e-6);
  expectPullBackOfSpatialDerivativesMatchesFiniteDifferences<4>(stack, parameters, inner, 1, 1e-11);
}

TEST(BSplineStackTransformTest, TheNextLevelRefinesTheTransformOfEachTime)
{
  Example example;
  BSplineTransform<2> slice = example.ofSlice();
  const std::vector<double> before = example.parameters;
  const std::size_t each = slice.parameterCount();

  example.transform.prepareForLevel(host, 1, example.parameters);

  for (std::size_t time = 0; time < 4; ++time) {
    BSplineTransform<2> one = slice;
    std::vector<double> part(before.begin() + static_cast<std::ptrdiff_t>(time * each),
                             before.begin() + static_cast<std::ptrdiff_t>((time + 1) * each));
    one.prepareForLevel(host, 1, part);
    ASSERT_GT(part.size(), each);
    ASSERT_EQ(example.parameters.size(), 4 * part.size());
    EXPECT_TRUE(std::equal(part.begin(), part.end(),
                           example.parameters.begin() + static_cast<std::ptrdiff_t>(time * part.size())));
  }
}

TEST(BSplineStackTransformTest, ItsFileGivesItBack)
{
  const Example example;
  const std::string text = fileText<3>(example.transform, example.parameters);
  BSplineStackTransform<3> again(parametersOf("(A 1)"));

  const std::vector<double> parameters = again.restore(host, parametersOf(text));

  EXPECT_EQ(parameters, example.parameters);
  const Points<3> points = example.points(100);
  EXPECT_EQ(mapped<3>(again, parameters, points).mm, mapped<3>(example.transform, parameters, points).mm);
  EXPECT_PRED2(contains, errorText([&] {
                 again.restore(host, parametersOf(replaced(text, "NumberOfSubTransforms 4",
                                                           "NumberOfSubTransforms 5")));
               }),
               "5 sub-transforms");
  EXPECT_PRED2(contains, errorText([&] {
                 again.restore(host, parametersOf(replaced(text, "StackOrigin", "StackOrigine")));
               }),
               "not given");
}

TEST(BSplineStackTransformTest, RefusesWhatHasNoAxisOfTime)
{
  EXPECT_PRED2(contains,
               errorText([] { BSplineStackTransform<3>(parametersOf("(UseCyclicTransform \"true\")")); }),
               "no axis of time");
  BSplineStackTransform<3> transform(gridOf12Mm);
  const auto start = [&](const ImageGeometry<3>& geometry) {
    const auto image = std::make_shared<const Image<3>>(Image<3>{geometry, {}});
    return errorText(
        [&] {
          transform.initialize(host, {image, image, nullptr, nullptr, nullptr, nullptr});
        },
        ExitCode::unreadableInput);
  };
  EXPECT_PRED2(contains, start(obliqueGeometry<3>({9, 8, 4})), "mix its last axis");
  EXPECT_PRED2(contains, start(seriesGeometry({9, 8, 1})), "two times or more");
}

}
}
