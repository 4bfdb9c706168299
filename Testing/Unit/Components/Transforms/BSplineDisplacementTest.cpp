#include "Components/Transforms/Shared/BSplineDisplacement.h"

#include "Components/Transforms/Shared/BSplineField.h"
#include "Testing/Support/Checks/TransformChecks.h"

#include <cmath>
#include <limits>

using namespace tessera;

namespace {

template <int D>
using Points = checks::Points<D>;

template <int D>
BSplineGrid<D> gridOf(int order, bool cyclic)
{
  BSplineGrid<D> grid{.order = order, .cyclic = cyclic};
  for (int d = 0; d < D; ++d) {
    grid.points.size[d] = 9 - static_cast<std::size_t>(d);
    grid.points.spacingMm[d] = 3.7 + d;
    grid.points.originMm[d] = 4.1 - 7 * d;
  }
  return grid;
}

/// Rows of 1 to 70 points along x that begin before the grid, end behind it, and turn back; the y and z of a
/// row stay to the bit.
template <int D>
Points<D> rows(const BSplineGrid<D>& grid)
{
  Points<D> points(0);
  const std::vector<double> places = checks::randomVector(3 * 40, 3, 0, 1);
  for (std::size_t row = 0; row < 40; ++row) {
    const std::size_t count = row < 6 ? row + 1 : 7 * row % 71;
    const double stepMm = (row % 3 == 0 ? -1 : 1) * (row % 5 == 0 ? 5.3 : 0.61);
    for (std::size_t i = 0; i < count; ++i)
      for (int d = 0; d < D; ++d) {
        const double extentMm = static_cast<double>(grid.points.size[d]) * grid.points.spacingMm[d];
        const double start = grid.points.originMm[d] + extentMm * (1.2 * places[3 * row + d] - 0.1);
        points.mm[d].push_back(d == 0 ? start + stepMm * static_cast<double>(i) : start);
      }
  }
  points.mm[0][17] = std::numeric_limits<double>::quiet_NaN();
  points.mm[D - 1][210] = std::numeric_limits<double>::quiet_NaN();
  return points;
}

template <int D>
void expectBitsOfSinglePoints(int order, bool cyclic)
{
  const BSplineGrid<D> grid = gridOf<D>(order, cyclic);
  const BSplineField<D> field(grid);
  const std::vector<double> coefficients = checks::randomVector(grid.parameterCount() + 8, 5, -3, 3);
  const Points<D> points = rows<D>(grid);
  for (const bool addPoint : {false, true}) {
    Points<D> together(points.count()), alone(points.count());

    field.displace(points.list(), coefficients.data(), addPoint, together.out());
    for (std::size_t i = 0; i < points.count(); ++i) {
      ListSamples<D> one = points.list();
      PointsOut<D> to = alone.out();
      for (int d = 0; d < D; ++d) {
        one.pointMm[d] += i;
        to[d] += i;
      }
      one.count = 1;
      field.displace(one, coefficients.data(), addPoint, to);
    }

    std::size_t displaced = 0;
    for (int d = 0; d < D; ++d)
      for (std::size_t i = 0; i < points.count(); ++i) {
        const double a = together.mm[d][i], b = alone.mm[d][i];
        ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << i << ": " << a << " and " << b;
        displaced += a != (addPoint ? points.mm[d][i] : 0);
      }
    EXPECT_GT(displaced, points.count() / 5);
  }
}

TEST(BSplineDisplacement, RowsHaveTheBitsOfSinglePoints)
{
  for (const int order : {1, 2, 3})
    for (const bool cyclic : {false, true}) {
      expectBitsOfSinglePoints<2>(order, cyclic);
      expectBitsOfSinglePoints<3>(order, cyclic);
    }
}

TEST(BSplineDisplacement, InPlaceIsAllowed)
{
  const BSplineGrid<3> grid = gridOf<3>(3, false);
  const BSplineField<3> field(grid);
  const std::vector<double> coefficients = checks::randomVector(grid.parameterCount() + 8, 5, -3, 3);
  Points<3> points = rows<3>(grid), apart(points.count());
  field.displace(points.list(), coefficients.data(), true, apart.out());

  field.displace(points.list(), coefficients.data(), true, points.out());

  for (int d = 0; d < 3; ++d)
    for (std::size_t i = 0; i < points.count(); ++i)
      ASSERT_TRUE(points.mm[d][i] == apart.mm[d][i] || std::isnan(apart.mm[d][i])) << i;
}

}
