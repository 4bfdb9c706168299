#include "Components/Transforms/BSplineTransform.h"

#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"

namespace tessera {
namespace {

using namespace checks;
using testing::errorText;

/// Entries may stand side by side here.
Parameters parametersOf(std::string text, std::size_t dimension, std::size_t levels = 1)
{
  for (std::size_t at = 0; (at = text.find(")(", at)) != std::string::npos;)
    text.insert(at + 1, "\n");
  return testing::parametersOf(text, dimension, levels, "Transform0");
}

struct Case {
  int order;
  bool cyclic;
  std::size_t slices; // control points along the last axis
};

std::string gridText(const Case& c, int dimension)
{
  const std::string common = "(BSplineTransformSplineOrder " + std::to_string(c.order)
                             + ")\n(UseCyclicTransform \"" + (c.cyclic ? "true" : "false") + "\")\n";
  const std::string slices = std::to_string(c.slices);
  if (dimension == 2) // turned by atan2(0.6, 0.8)
    return common + "(GridSize 7 " + slices
           + ")(GridSpacing 9 11)(GridOrigin -3 4)(GridDirection 0.8 0.6 -0.6 0.8)\n";
  if (dimension == 4)
    return common + "(GridSize 4 5 4 " + slices + ")(GridSpacing 9 11 13 10)(GridOrigin -3 4 1000 2)"
           + "(GridDirection 0.8 0.6 0 0 -0.6 0.8 0 0 0 0 1 0 0 0 0 1)\n";
  return common + "(GridSize 6 5 " + slices + ")(GridSpacing 9 11 13)(GridOrigin -3 4 1000)"
         + "(GridDirection 0.8 0.6 0 -0.6 0.8 0 0 0 1)\n";
}

/// A transform with an oblique grid and random coefficients of about a millimetre.
template <int D>
struct Example {
  BSplineTransform<D> transform{parametersOf("(A 1)", D)};
  std::vector<double> parameters;

  explicit Example(const Case& c)
  {
    const std::size_t count = D * c.slices * (D == 2 ? 7 : D == 3 ? 30 : 80);
    std::string text = gridText(c, D) + "(TransformParameters";
    for (const double value : randomVector(count, 11))
      text += " " + std::to_string(value);
    parameters = transform.restore({}, parametersOf(text + ")", D));
  }

  /// Inside and around the grid.
  Points<D> points(std::size_t count, double margin) const
  {
    const AffineMap<D> pointFromIndex = transform.grid().points.pointFromIndex();
    Points<D> result(count);
    for (std::size_t i = 0; i < count; ++i) {
      Vec<D> index;
      for (int d = 0; d < D; ++d)
        index[d] = randomVector(1, 1000 * i + d, -margin,
                                static_cast<double>(transform.grid().points.size[d]) - 1 + margin)[0];
      const Vec<D> point = pointFromIndex(index);
      for (int d = 0; d < D; ++d)
        result.mm[d][i] = point[d];
    }
    return result;
  }

  /// Where finite differences do not meet the border of the grid or a knot (where derivatives of low orders
  /// jump).
  Points<D> smoothPoints(std::size_t count) const
  {
    const BSplineGrid<D>& grid = transform.grid();
    Points<D> result(count);
    for (std::size_t i = 0; i < count; ++i) {
      Vec<D> index;
      for (int d = 0; d < D; ++d) {
        const double cells = static_cast<double>(grid.points.size[d]) - grid.order;
        const std::vector<double> random = randomVector(2, 500 * i + d, 0, 1);
        index[d] = (grid.order - 1) / 2.0 + std::floor(cells * random[0]) + 0.1 + 0.8 * random[1];
      }
      const Vec<D> point = grid.points.pointFromIndex()(index);
      for (int d = 0; d < D; ++d)
        result.mm[d][i] = point[d];
    }
    return result;
  }
};

/// The cardinal B-spline by its recursion (de Boor): beta_n(x) = ((x + (n+1)/2) beta_{n-1}(x + 1/2)
/// + ((n+1)/2 - x) beta_{n-1}(x - 1/2)) / n.
double cardinal(int n, double x)
{
  if (n == 0)
    return x >= -0.5 && x < 0.5 ? 1 : 0;
  const double half = (n + 1) / 2.0;
  return ((x + half) * cardinal(n - 1, x + 0.5) + (half - x) * cardinal(n - 1, x - 0.5)) / n;
}

/// The definition, summed over every control point.
template <int D>
Vec<D> naiveDisplacement(const BSplineGrid<D>& grid, const std::vector<double>& c, const Vec<D>& point)
{
  const Vec<D> index = grid.points.indexFromPoint()(point);
  Vec<D> u{};
  for (int d = 0; d < D; ++d) {
    const double start = index[d] - (grid.order - 1) / 2.0;
    if (!(grid.cyclic && d == D - 1)
        && !(start >= 0 && start < static_cast<double>(grid.points.size[d]) - grid.order))
      return u;
  }
  for (std::size_t k = 0; k < grid.pointCount(); ++k) {
    double weight = 1;
    for (std::size_t d = 0, rest = k; d < D; rest /= grid.points.size[d++]) {
      const double distance = index[d] - static_cast<double>(rest % grid.points.size[d]);
      const auto period = static_cast<double>(grid.points.size[d]);
      if (grid.cyclic && d == D - 1) {
        double sum = 0;
        for (int turn = -5; turn <= 5; ++turn)
          sum += cardinal(grid.order, distance + turn * period);
        weight *= sum;
      } else {
        weight *= cardinal(grid.order, distance);
      }
    }
    for (int d = 0; d < (grid.cyclic ? D - 1 : D); ++d)
      u[d] += weight * c[d * grid.pointCount() + k];
  }
  return u;
}

template <int D>
void expectMapIsTheDefinition(const Case& c)
{
  const Example<D> example(c);
  for (const std::size_t count : {1, 7, D == 4 ? 60 : 300}) {
    const Points<D> points = example.points(count, 1.5);

    const Points<D> mappedPoints = mapped<D>(example.transform, example.parameters, points);

    for (std::size_t i = 0; i < count; ++i) {
      Vec<D> x;
      for (int d = 0; d < D; ++d)
        x[d] = points.mm[d][i];
      const Vec<D> u = naiveDisplacement<D>(example.transform.grid(), example.parameters, x);
      for (int d = 0; d < D; ++d)
        ASSERT_NEAR(mappedPoints.mm[d][i], x[d] + u[d],
                    1e-12 * (1 + std::abs(x[d]))) // roundings of index and coordinates
            << "order " << c.order << ", point " << i << ", axis " << d;
    }
  }
}

class BSplineTransformTest : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(OrdersAndCycles, BSplineTransformTest,
                         ::testing::Values(Case{1, false, 5}, Case{2, false, 6}, Case{3, false, 7},
                                           Case{1, true, 2}, Case{2, true, 4}, Case{3, true, 5},
                                           Case{3, true, 9}),
                         [](const auto& info) {
                           return "Order" + std::to_string(info.param.order)
                                  + (info.param.cyclic ? "Cyclic" : "Slices")
                                  + std::to_string(info.param.slices);
                         });

TEST_P(BSplineTransformTest, MapIsTheSumOverAllControlPoints)
{
  expectMapIsTheDefinition<2>(GetParam());
  expectMapIsTheDefinition<3>(GetParam());
  expectMapIsTheDefinition<4>(GetParam());
}

template <int D>
void expectDerivativesAgree(const Case& c)
{
  const Example<D> example(c);
  const Points<D> anywhere = example.points(40, 1.0), smooth = example.smoothPoints(20);
  expectPullBackIsAdjointOfPushForward<D>(example.transform, example.parameters, anywhere);
  // map is linear in the parameters: only rounding of coordinates of about 1000 mm over the step
  expectPushForwardMatchesFiniteDifferences<D>(example.transform, example.parameters, anywhere, 0.5,
                                               1e-12 * 1000);
  // a step of 1e-4 of a cell; third derivatives below 1/9^3 mm^-2, rounding 1e-13 * 1000 / 1e-3
  const double stepMm = 1e-3, jacobianTolerance = 2e-9;
  if constexpr (D == 4) { // there are no second derivatives
    Context context;
    expectSpatialMatchesFiniteDifferences<D>(
        [&](const ListSamples<D>& list, const PointsOut<D>& out) {
          example.transform.map(context, list, example.parameters, out);
        },
        [&](const ListSamples<D>& list, double* jacobian, double*) {
          example.transform.spatialDerivatives(context, list, example.parameters, jacobian, nullptr);
        },
        smooth, stepMm, jacobianTolerance, HUGE_VAL);
    return;
  }
  expectSpatialDerivativesMatchFiniteDifferences<D>(example.transform, example.parameters, smooth, stepMm,
                                                    jacobianTolerance, 1e-8);
  // linear in the parameters again; sums over 20 points
  expectPullBackOfSpatialDerivativesMatchesFiniteDifferences<D>(example.transform, example.parameters, smooth,
                                                                0.5, 1e-11);
}

TEST_P(BSplineTransformTest, DerivativesMatchFiniteDifferences)
{
  expectDerivativesAgree<2>(GetParam());
  expectDerivativesAgree<3>(GetParam());
  expectDerivativesAgree<4>(GetParam());
}

template <int D>
void expectExactJacobianTerms(const Case& c)
{
  const Example<D> example(c);
  const Points<D> points = example.points(D == 4 ? 8 : 60, 0.7);
  const std::size_t parameterCount = example.transform.parameterCount(), controlPoints = parameterCount / D;
  std::vector<double> general = randomVector(parameterCount, 21, 0.5, 3), equal(parameterCount);
  for (std::size_t k = 0; k < parameterCount; ++k)
    equal[k] = general[k % controlPoints]; // the same for the components of a control point
  for (const auto& scales : {std::vector<double>(parameterCount, 1.0), equal, general})
    expectJacobianTermsMatchNaive<D>(example.transform, example.parameters, scales, points);
}

TEST_P(BSplineTransformTest, JacobianTermsAreExactForAnyScales)
{
  expectExactJacobianTerms<2>(GetParam());
  expectExactJacobianTerms<3>(GetParam());
  expectExactJacobianTerms<4>(GetParam());
}

TEST(BSplineTransform, OneCoefficientMovesItsControlPointByTwoThirdsAnAxis)
{
  BSplineTransform<2> transform(parametersOf("(A 1)", 2));
  std::string text = "(GridSize 5 5)(GridSpacing 10 20)(GridOrigin 100 200)(TransformParameters";
  for (int k = 0; k < 50; ++k)
    text += k == 25 + 12 ? " 9" : " 0"; // y of the control point in the middle
  const std::vector<double> parameters = transform.restore({}, parametersOf(text + ")", 2));
  Points<2> points(3);
  points.mm = {{{120, 125, 150}, {240, 240, 240}}}; // on it, half a spacing beside it, outside of the grid

  const Points<2> moved = mapped<2>(transform, parameters, points);

  EXPECT_EQ(moved.mm[0], points.mm[0]);
  EXPECT_NEAR(moved.mm[1][0], 240 + 9 * (2.0 / 3) * (2.0 / 3), 1e-12);
  EXPECT_NEAR(moved.mm[1][1], 240 + 9 * (23.0 / 48) * (2.0 / 3), 1e-12); // beta_3(1/2) = 23/48
  EXPECT_EQ(moved.mm[1][2], 240);
}

TEST(BSplineTransform, PointsThatAreNotNumbersStayAsTheyAre)
{
  for (const bool cyclic : {false, true}) {
    const Example<3> example({3, cyclic, 7});
    Points<3> points = example.points(2, 0);
    points.mm[0][0] = points.mm[2][1] = std::nan("");

    const Points<3> moved = mapped<3>(example.transform, example.parameters, points);

    EXPECT_EQ(moved.mm[1][0], points.mm[1][0]);
    EXPECT_TRUE(std::isnan(moved.mm[0][0]));
    EXPECT_EQ(moved.mm[0][1], points.mm[0][1]);
  }
}

TEST(BSplineTransform, FileEntriesAreReadBackTheSame)
{
  for (const bool cyclic : {false, true}) {
    const Example<3> example({2, cyclic, 5});
    BSplineTransform<3> other(parametersOf("(A 1)", 3));

    EXPECT_EQ(other.restore({}, parametersOf(fileText<3>(example.transform, example.parameters), 3)),
              example.parameters);

    EXPECT_EQ(other.grid(), example.transform.grid());
  }
}

TEST(BSplineTransform, FilesHaveTheDirectionColumnAfterColumn)
{
  const std::vector<FileEntry> entries = Example<3>({2, false, 5}).transform.fileEntries();
  ASSERT_EQ(entries.size(), 7u);
  EXPECT_EQ(entries[4].name, "GridDirection");
  EXPECT_EQ(entries[4].numbers, (std::vector<double>{0.8, 0.6, 0, -0.6, 0.8, 0, 0, 0, 1}));
}

TEST(BSplineTransform, GridIndexMovesTheGrid)
{
  std::string zeros = "(TransformParameters";
  for (int k = 0; k < 50; ++k)
    zeros += " 0";
  BSplineTransform<2> transform(parametersOf("(A 1)", 2));
  const std::string axes = "(GridSize 5 5)(GridSpacing 10 20)(GridOrigin 1 2)(GridDirection 0 1 -1 0)";

  transform.restore({}, parametersOf(axes + "(GridIndex 2 -1)" + zeros + ")", 2));

  EXPECT_NEAR(transform.grid().points.originMm[0], 1 + 20,
              1e-12); // the second axis points to -x: -1 * 20 * -1
  EXPECT_NEAR(transform.grid().points.originMm[1], 2 + 20, 1e-12); // the first to y: 2 * 10
}

TEST(BSplineTransform, WrongCountsInAFileAreToldWithTheFigures)
{
  BSplineTransform<2> transform(parametersOf("(A 1)", 2));
  const auto restoring = [&](const std::string& text) {
    return errorText([&] { transform.restore({}, parametersOf(text, 2)); });
  };

  const std::string mismatch =
      restoring("(GridSize 4 4)(GridSpacing 1 1)(GridOrigin 0 0)(TransformParameters 1 2 3)");
  EXPECT_PRED2(testing::contains, mismatch, "3 values");
  EXPECT_PRED2(testing::contains, mismatch, "4 x 4 control points and 2 components makes 32");
  EXPECT_PRED2(testing::contains, restoring("(GridSpacing 1 1)(GridOrigin 0 0)"), "GridSize");
  EXPECT_PRED2(testing::contains, restoring("(GridSize 4)(GridSpacing 1 1)(GridOrigin 0 0)"), "1 values");
  EXPECT_PRED2(testing::contains, restoring("(GridSize 4 4)(GridSpacing 1 0)(GridOrigin 0 0)"), "above 0");
  EXPECT_PRED2(testing::contains,
               restoring("(GridSize 4 4)(GridSpacing 1 1)(GridOrigin 0 0)(GridDirection 1 0 1 0)"),
               "GridDirection");
  EXPECT_PRED2(testing::contains,
               restoring("(GridSize 4 3)(GridSpacing 1 1)(GridOrigin 0 0)(UseCyclicTransform \"true\")"),
               "at least 4");
}

TEST(BSplineTransform, WrongGridParametersAreToldAtOnce)
{
  const auto making = [](const std::string& text) {
    return errorText([&] { BSplineTransform<2> t(parametersOf(text, 2, 3)); });
  };
  EXPECT_PRED2(testing::contains, making("(FinalGridSpacingInVoxels 8)(FinalGridSpacingInPhysicalUnits 8)"),
               "one of the two");
  EXPECT_PRED2(testing::contains, making("(GridSpacingSchedule 4 2)"), "3 (one a level) or 6");
  EXPECT_PRED2(testing::contains, making("(BSplineTransformSplineOrder 4)"), "BSplineTransformSplineOrder");
}

TEST(BSplineTransform, PassiveEdgesHaveTheScaleTenThousand)
{
  auto image = std::make_shared<Image<2>>();
  image->geometry = {{30, 40}, {1, 1}, {0, 0}, identityMatrix<2>()};
  BSplineTransform<2> transform(
      parametersOf("(FinalGridSpacingInVoxels 10)(GridSpacingSchedule 1 1)(PassiveEdgeWidth 0 1)", 2, 2));
  Context context;
  std::vector<double> parameters = transform.initialize(context, {image, image, nullptr, nullptr, nullptr});

  EXPECT_EQ(transform.scales(context, {}, parameters), std::vector<double>(2 * 6 * 7, 1.0));
  transform.prepareForLevel(context, 1, parameters);
  const std::vector<double> scales = transform.scales(context, {}, parameters);

  EXPECT_EQ(std::count(scales.begin(), scales.end(), 1.0), 2 * 4 * 5);
  EXPECT_EQ(std::count(scales.begin(), scales.end(), 1e4), 2 * (6 * 7 - 4 * 5));
  EXPECT_EQ(scales[0], 1e4);
  EXPECT_EQ(scales[7], 1);
  EXPECT_EQ(scales[6 * 7 + 7], 1);
}

}
}
