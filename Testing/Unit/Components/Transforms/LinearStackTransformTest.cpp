#include "Components/Transforms/AffineLogStackTransform.h"
#include "Components/Transforms/EulerStackTransform.h"
#include "Components/Transforms/TranslationStackTransform.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/SeriesScenes.h"

namespace tessera {
namespace {

using namespace checks;
using namespace testing;

const ImageGeometry<3> geometry = seriesGeometry({26, 22, 4});

std::vector<double> started(OptimizableTransform<3>& transform, const TransformChain<3>* initial = nullptr)
{
  const auto series = std::make_shared<const Image<3>>(Image<3>{geometry, {}});
  return transform.initialize(host, {series, series, nullptr, nullptr, initial, nullptr});
}

Vec<2> centerOf(const Transform<3>& transform)
{
  const FileEntry entry = transform.fileEntries().front();
  EXPECT_EQ(entry.name, "CenterOfRotationPoint");
  return {entry.numbers.at(0), entry.numbers.at(1)};
}

TEST(LinearStackTransformTest, MapsEachPointByTheTransformOfTheNearestTime)
{
  EulerStackTransform<3> transform(parametersOf("(A 1)"));
  EXPECT_EQ(started(transform), std::vector<double>(12, 0.0));
  const std::vector<double> parameters = randomVector(12, 3);
  const Vec<2> center = centerOf(transform);
  Points<3> points = randomPoints<3>(200, 9, {-5, -30, -5}, {60, 25, 15});
  for (std::size_t i = 0; i < 5;
       ++i) // halfway between two times, of which the even one counts, as in elastix
    points.mm[2][i] = 2.5 * static_cast<double>(i);

  const Points<3> found = mapped<3>(transform, parameters, points);

  for (std::size_t i = 0; i < points.count(); ++i) {
    const auto time =
        static_cast<std::size_t>(std::clamp(std::nearbyint((points.mm[2][i] - 1.25) / 2.5), 0.0, 3.0));
    const double *const p = parameters.data() + 3 * time, c = std::cos(p[0]), s = std::sin(p[0]);
    const double x = points.mm[0][i] - center[0], y = points.mm[1][i] - center[1];
    ASSERT_NEAR(found.mm[0][i], c * x - s * y + center[0] + p[1], 1e-12);
    ASSERT_NEAR(found.mm[1][i], s * x + c * y + center[1] + p[2], 1e-12);
    ASSERT_EQ(found.mm[2][i], points.mm[2][i]);
  }
}

TEST(LinearStackTransformTest, DerivativesAgreeWithFiniteDifferencesAndAdjoints)
{
  const Points<3> points = randomPoints<3>(60, 9, {-5, -30, -5}, {60, 25, 15});
  const auto expectDerivatives = [&](auto transform) {
    const std::vector<double> parameters = randomVector(started(transform).size(), 3, -0.3, 0.3),
                              scales(parameters.size(), 2.5);
    expectPullBackIsAdjointOfPushForward<3>(transform, parameters, points);
    // second derivatives by an angle of some 40 mm, and roundings of 1e-14 mm over the step
    expectPushForwardMatchesFiniteDifferences<3>(transform, parameters, points, 1e-5, 1e-7);
    expectJacobianTermsMatchNaive<3>(transform, parameters, scales, points);
  };
  expectDerivatives(EulerStackTransform<3>(parametersOf("(A 1)")));
  expectDerivatives(TranslationStackTransform<3>(parametersOf("(A 1)")));
  expectDerivatives(AffineLogStackTransform<3>(parametersOf("(A 1)")));
}

TEST(LinearStackTransformTest, TheCentreIsThatOfASliceTheGivenOneOrTheMeanAfterAnInitialTransform)
{
  EulerStackTransform<3> transform(
      parametersOf("(AutomaticTransformInitialization \"true\")\n"
                   "(AutomaticTransformInitializationMethod \"CenterOfGravity\")")),
      given(parametersOf("(CenterOfRotationPoint 3 4)"));
  started(transform);
  started(given);
  const Vec<3> middle = geometry.centerMm();
  for (int d = 0; d < 2; ++d)
    EXPECT_NEAR(centerOf(transform)[d], middle[d], 1e-12);
  EXPECT_EQ(centerOf(given), (Vec<2>{3, 4}));

  const auto shifts = std::make_shared<TranslationStackTransform<3>>(parametersOf("(A 1)"));
  TransformChain<3> initial{nullptr, Combination::compose, shifts, started(*shifts)};
  initial.parameters = {1, 2, 3, 4, 5, 6, 7, 9};
  started(given, &initial);
  EXPECT_EQ(centerOf(given), (Vec<2>{3 + 16. / 4, 4 + 21. / 4}));
}

TEST(LinearStackTransformTest, ScalesAreDefaultsGivenOnesOrEstimatedAtTheLastTime)
{
  const Points<3> points = randomPoints<3>(500, 9, {-5, -30, 8.2}, {60, 25, 9});
  const auto scalesOf = [&](const std::string& text) {
    EulerStackTransform<3> transform(parametersOf(text));
    const std::vector<double> parameters = started(transform);
    return transform.scales(host, points.list(), parameters);
  };
  const std::vector<double> standard = scalesOf("(A 1)"), one = scalesOf("(Scales 77)"),
                            automatic = scalesOf("(AutomaticScalesEstimation \"true\")"),
                            old = scalesOf("(AutomaticScalesEstimationStackTransform \"true\")");
  ASSERT_EQ(standard.size(), 12u);
  const Vec<3> middle = geometry.centerMm();
  double radius2 = 0;
  for (std::size_t i = 0; i < points.count(); ++i)
    radius2 += (std::pow(points.mm[0][i] - middle[0], 2) + std::pow(points.mm[1][i] - middle[1], 2)) / 500;
  for (std::size_t k = 0; k < 12; ++k) {
    EXPECT_EQ(standard[k], k % 3 == 0 ? 10000 : 1);
    EXPECT_EQ(one[k], k % 3 == 0 ? 77 : 1);
    EXPECT_NEAR(automatic[k], k % 3 == 0 ? radius2 : 1, 1e-9 * radius2);
    EXPECT_EQ(old[k], automatic[k]);
  }
}

TEST(LinearStackTransformTest, ScalesOfLogarithmsFollowTheRuleOfStacks)
{
  const Points<3> points = randomPoints<3>(500, 9, {-5, -30, 8.2}, {60, 25, 9});
  const auto scalesOf = [&](const std::string& text) {
    AffineLogStackTransform<3> transform(parametersOf(text));
    const std::vector<double> parameters = started(transform),
                              all = transform.scales(host, points.list(), parameters);
    EXPECT_EQ(all.size(), 24u);
    return std::vector<double>(all.begin(), all.begin() + 6);
  };
  EXPECT_EQ(scalesOf("(A 1)"), (std::vector<double>{10000, 10000, 10000, 10000, 1, 1}));
  EXPECT_EQ(scalesOf("(Scales 77)"), (std::vector<double>{77, 77, 77, 77, 1, 1}));
  const std::vector<double> automatic = scalesOf("(AutomaticScalesEstimation \"true\")\n(Scales 77)");
  EXPECT_GT(automatic[0], 100);
  EXPECT_NE(automatic[0], automatic[1]); // the extent along x is not that along y
  EXPECT_EQ(automatic, scalesOf("(AutomaticScalesEstimationStackTransform \"true\")"));
}

TEST(LinearStackTransformTest, ItsFileGivesItBack)
{
  EulerStackTransform<3> transform(parametersOf("(CenterOfRotationPoint 3 4)")), again(parametersOf("(A 1)"));
  started(transform);
  const std::string text = fileText<3>(transform, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});

  const std::vector<double> parameters = again.restore(host, parametersOf(text));

  const Points<3> points = randomPoints<3>(100, 9, {-5, -30, -5}, {60, 25, 15});
  EXPECT_EQ(mapped<3>(again, parameters, points).mm, mapped<3>(transform, parameters, points).mm);
  EXPECT_PRED2(contains, errorText([&] {
                 again.restore(host, parametersOf(replaced(text, "Transforms 4", "Transforms 5")));
               }),
               "makes 15");
}

}
}
