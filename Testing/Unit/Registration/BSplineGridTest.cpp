#include "Core/Registration/Fields/BSplineGrid.h"

#include "Components/Transforms/BSplineTransform.h"
#include "Components/Transforms/Shared/BSplineField.h"
#include "Core/Compute/Error.h"
#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/ParameterText.h"

namespace tessera {
namespace {

using namespace checks;

const double degree = std::acos(-1.0) / 180;

/// An image of 90 x 83 voxels, turned by 25 degrees.
ImageGeometry<2> obliqueImage()
{
  const double c = std::cos(25 * degree), s = std::sin(25 * degree);
  return {{90, 83}, {0.9375, 1.1}, {10, -20}, {{{c, -s}, {s, c}}}};
}

Parameters parametersOf(const std::string& text, std::size_t dimension = 2, std::size_t levels = 3)
{
  return testing::parametersOf(text, dimension, levels, "Transform0");
}

template <int D>
ImagePointer<D> imageOf(const ImageGeometry<D>& geometry)
{
  auto image = std::make_shared<Image<D>>();
  image->geometry = geometry;
  return image;
}

void expectGrid(const BSplineGrid<2>& grid, const Size<2>& size, const Vec<2>& spacingMm,
                const Vec<2>& originMm)
{
  EXPECT_EQ(grid.points.size, size);
  for (int d = 0; d < 2; ++d) {
    EXPECT_NEAR(grid.points.spacingMm[d], spacingMm[d], 5.1e-11); // elastix 5.0.1 writes ten decimals
    EXPECT_NEAR(grid.points.originMm[d], originMm[d], 5.1e-11);
  }
}

TEST(BSplineGrid, ByHandIsCentredOnTheImageWithHalfTheOrderToSpare)
{
  const ImageGeometry<2> image{{100, 60}, {1, 2}, {0, 10}, identityMatrix<2>()};
  const BSplineGrid<2> grid = gridOver<2>(image, {16, 16}, 3, false);
  // ceil(100/16) = 7 and ceil(120/16) = 8 cells, three points more; origin -((10 - 1) 16 - 99) / 2 and 10 -
  // ((11 - 1) 16 - 118) / 2
  expectGrid(grid, {10, 11}, {16, 16}, {-22.5, -11});
}

TEST(BSplineGrid, IsElastixsOnAnObliqueImage)
{
  BSplineTransform<2> transform(parametersOf("(FinalGridSpacingInPhysicalUnits 7 6)"));
  Context context;
  const auto image = imageOf(obliqueImage());
  std::vector<double> parameters = transform.initialize(context, {image, image, nullptr, nullptr, nullptr});
  expectGrid(transform.grid(), {7, 7}, {28, 24}, {-16.9513948798, -62.2485078505});
  EXPECT_EQ(transform.grid().points.direction, image->geometry.direction);
  EXPECT_EQ(parameters, std::vector<double>(2 * 49, 0.0));
}

TEST(BSplineGrid, ScheduleFactorsMayBeGivenForEachAxis)
{
  BSplineTransform<2> transform(
      parametersOf("(FinalGridSpacingInVoxels 10 5)\n(GridSpacingSchedule 4 3 2 2 1 1)"));
  Context context;
  const auto image = imageOf<2>({{100, 100}, {0.5, 2}, {0, 0}, identityMatrix<2>()});
  std::vector<double> parameters = transform.initialize(context, {image, image, nullptr, nullptr, nullptr});
  EXPECT_EQ(transform.grid().points.spacingMm, (Vec<2>{20, 30}));
  transform.prepareForLevel(context, 1, parameters);
  EXPECT_EQ(transform.grid().points.spacingMm, (Vec<2>{10, 20}));
  transform.prepareForLevel(context, 2, parameters);
  EXPECT_EQ(transform.grid().points.spacingMm, (Vec<2>{5, 10}));
  EXPECT_EQ(parameters.size(), transform.parameterCount());
}

/// x -> 1.25 x about the image's centre, as a displacement field whose coefficients are linear in the
/// position.
ChainPointer<2> stretching(const ImageGeometry<2>& image)
{
  const Vec<2> center = image.centerMm();
  std::string text = "(GridSize 9 9)\n(GridSpacing 100 100)\n(GridOrigin -400 -400)\n(TransformParameters";
  for (int d = 0; d < 2; ++d)
    for (int k = 0; k < 81; ++k)
      text += " " + std::to_string(0.25 * (-400 + 100 * (d == 0 ? k % 9 : k / 9) - center[d]));
  const auto transform = std::make_shared<BSplineTransform<2>>(parametersOf("(A 1)"));
  std::vector<double> parameters = transform->restore({}, parametersOf(text + ")"));
  return std::make_shared<TransformChain<2>>(
      TransformChain<2>{nullptr, Combination::compose, transform, std::move(parameters)});
}

TEST(BSplineGrid, StretchesWithAnInitialTransformThatIsComposedOnly)
{
  const auto image = imageOf(obliqueImage());
  const auto initial = stretching(image->geometry);
  Context context;
  const TransformStart<2> start{image, image, nullptr, nullptr, initial.get()};
  BSplineTransform<2> composed(parametersOf("(FinalGridSpacingInPhysicalUnits 7 6)"));
  BSplineTransform<2> added(
      parametersOf("(FinalGridSpacingInPhysicalUnits 7 6)\n(HowToCombineTransforms \"Add\")"));

  composed.initialize(context, start);
  added.initialize(context, start);

  EXPECT_EQ(composed.grid().points.size, (Size<2>{7, 7}));
  EXPECT_NEAR(composed.grid().points.spacingMm[0], 1.25 * 28, 1e-6); // coefficients above have six decimals
  EXPECT_NEAR(composed.grid().points.spacingMm[1], 1.25 * 24, 1e-6);
  for (int d = 0; d < 2; ++d) // about the same centre
    EXPECT_NEAR(composed.grid().points.centerMm()[d], image->geometry.centerMm()[d], 1e-5);
  expectGrid(added.grid(), {7, 7}, {28, 24}, {-16.9513948798, -62.2485078505});
}

TEST(BSplineGrid, CyclicAxisHasWholePeriods)
{
  const ImageGeometry<3> image{{40, 37, 30}, {1.5, 1.7, 2.1}, {0, 0, 0}, identityMatrix<3>()};
  const BSplineGrid<3> grid = gridOver<3>(image, {16, 16, 12.4}, 3, true);
  EXPECT_EQ(grid.points.size, (Size<3>{7, 7, 5}));
  EXPECT_NEAR(grid.points.spacingMm[2], 63.0 / 5, 1e-12);
  EXPECT_THROW(gridOver<3>(image, {16, 16, 20}, 3, true), Error); // three points cannot carry a cubic
}

TEST(BSplineGrid, TooManyControlPointsAreAnErrorAndNotACrash)
{
  EXPECT_THROW(gridOver<2>(obliqueImage(), {1e-9, 1e-9}, 3, false), Error);
}

/// Displacement at the control points of a grid by a field on another.
template <int D>
Points<D> fieldAt(const BSplineGrid<D>& where, const BSplineGrid<D>& grid,
                  const std::vector<double>& coefficients)
{
  Points<D> points(where.pointCount()), u(where.pointCount());
  for (std::size_t i = 0; i < where.pointCount(); ++i) {
    const Vec<D> pointMm = where.points.pointFromIndex()(indexOfVoxel<D>(where.points.size, i));
    for (int d = 0; d < D; ++d)
      points.mm[d][i] = pointMm[d];
  }
  BSplineField<D>(grid).displace(points.list(), coefficients.data(), false, u.out());
  return u;
}

/// Whether the grid displaces the point of this index, with room for rounding at the border.
template <int D>
bool carried(const BSplineGrid<D>& grid, const Vec<D>& index)
{
  for (int d = 0; d < (grid.cyclic ? D - 1 : D); ++d)
    if (!(index[d] > (grid.order - 1) / 2.0 + 1e-9
          && index[d] < static_cast<double>(grid.points.size[d]) - (grid.order + 1) / 2.0 - 1e-9))
      return false;
  return true;
}

TEST(BSplineGrid, RefinedSplineAgreesAtTheNewControlPoints)
{
  const ImageGeometry<3> image{
      {40, 37, 30}, {1.5, 1.7, 2.1}, {-30, 12, 400}, {{{0.8, -0.6, 0}, {0.6, 0.8, 0}, {0, 0, 1}}}};
  for (const int order : {1, 2, 3})
    for (const bool cyclic : {false, true}) {
      const BSplineGrid<3> from = gridOver<3>(image, {16, 15, 12}, order, cyclic),
                           to = gridOver<3>(image, {7, 8, 5}, order, cyclic);
      const std::vector<double> old = randomVector(from.parameterCount(), 3);

      const std::vector<double> refined = refineCoefficients(Context{}, from, to, old);

      ASSERT_EQ(refined.size(), to.parameterCount());
      const Points<3> before = fieldAt(to, from, old), after = fieldAt(to, to, refined);
      const AffineMap<3> oldFromNew = compose(from.points.indexFromPoint(), to.points.pointFromIndex());
      std::size_t compared = 0;
      for (std::size_t k = 0; k < to.pointCount(); ++k) {
        const Size<3>& n = to.points.size;
        const Vec<3> index{double(k % n[0]), double(k / n[0] % n[1]), double(k / n[0] / n[1])};
        if (!carried<3>(from, oldFromNew(index)) || !carried<3>(to, index))
          continue;
        ++compared;
        for (int d = 0; d < 3; ++d)
          ASSERT_NEAR(after.mm[d][k], before.mm[d][k], 1e-12) // rounding of coefficients of about 10
              << "order " << order << ", cyclic " << cyclic << ", control point " << k;
      }
      EXPECT_GT(compared, 100u);
    }
}

TEST(BSplineGrid, RefinementToHalfTheSpacingKeepsTheSplineInside)
{
  // new control points at and halfway between the old ones: splines of odd order on the old grid are splines
  // on the new one
  const BSplineGrid<2> from{{{30, 32}, {8, 6}, {0, 0}, identityMatrix<2>()}, 3, false};
  const BSplineGrid<2> to{{{57, 61}, {4, 3}, {4, 3}, identityMatrix<2>()}, 3, false};
  const std::vector<double> old = randomVector(from.parameterCount(), 5);
  const std::vector<double> refined = refineCoefficients(Context{}, from, to, old);
  const Points<2> points = randomPoints<2>(200, 1, {100, 80}, {130, 105});
  Points<2> before(200), after(200);

  BSplineField<2>(from).displace(points.list(), old.data(), false, before.out());
  BSplineField<2>(to).displace(points.list(), refined.data(), false, after.out());

  const double endsEffect =
      std::pow(0.268, 22); // the pole of the cubic decomposition, 22 control points from the ends
  EXPECT_LE(largestDifference(after, before), 10 * endsEffect + 1e-12);
}

}
}
