#include "Core/Registration/Fields/BSplineLattice.h"

#include "Testing/Support/Scenes/BSplineChains.h"

namespace tessera {
namespace {

using namespace testing;

TEST(BSplineLattice, AxesAreThoseByHand)
{
  const ImageGeometry<2> lattice{{11, 13}, {2, 3}, {5, -7}, {{{0.8, -0.6}, {0.6, 0.8}}}};
  BSplineGrid<2> grid{{{7, 8}, {10, 12}, {}, lattice.direction}, 2, false};
  grid.points.originMm =
      AffineMap<2>{lattice.direction, lattice.originMm}({-14, -9}); // 1.4 and 0.75 control points before

  const std::optional<AlignedField<2>> field = alignedFieldOf(grid, lattice);

  ASSERT_TRUE(field);
  EXPECT_EQ(field->order, 2);
  EXPECT_NEAR(field->axes[0].first, 1.4, 1e-14);
  EXPECT_NEAR(field->axes[1].first, 0.75, 1e-14);
  EXPECT_EQ(field->axes[0].step, 0.2);
  EXPECT_EQ(field->axes[1].step, 0.25);
  EXPECT_EQ(field->axes[0].points, 7);
  EXPECT_EQ(field->axes[1].points, 8);
  EXPECT_EQ(field->axes[0].voxels, 11);
  EXPECT_EQ(field->axes[1].voxels, 13);
  EXPECT_EQ(field->indexFromOffset, grid.points.indexFromOffset());
}

/// Every corner of a turned lattice has the grid index that its point has.
template <int D>
void expectIndicesOfPoints(const ImageGeometry<D>& lattice, const Vec<D>& spacingVoxels)
{
  const BSplineGrid<D> grid = gridAcross<D>(lattice, spacingVoxels, 3);
  const std::optional<AlignedField<D>> field = alignedFieldOf(grid, lattice);
  ASSERT_TRUE(field);
  for (int corner = 0; corner < 1 << D; ++corner) {
    Vec<D> voxel;
    for (int d = 0; d < D; ++d)
      voxel[d] = corner >> d & 1 ? static_cast<double>(lattice.size[d] - 1) : 0;
    const Vec<D> index = grid.points.indexFromPoint()(lattice.pointFromIndex()(voxel));
    for (int d = 0; d < D; ++d)
      EXPECT_NEAR(field->axes[d].first + field->axes[d].step * voxel[d], index[d], 1e-12)
          << corner; // roundings of some 100 mm
  }
}

TEST(BSplineLattice, CentredGridsOfAnySpacingOnTurnedImagesAgreeWithTheirPoints)
{
  for (const double spacing : {1.0, 5.0, 5.37, 21.7, 400.0}) {
    expectIndicesOfPoints<2>(turnedLattice<2>({61, 38}, {0.7, 1.3}), {spacing, 1.5 * spacing});
    expectIndicesOfPoints<3>(turnedLattice<3>({17, 19, 23}, {0.737, 1.1, 2.5}),
                             {spacing, 1.5 * spacing, spacing});
  }
}

TEST(BSplineLattice, OtherAxesAndCyclicGridsHaveNone)
{
  const ImageGeometry<3> lattice = turnedLattice<3>({17, 19, 23}, {1, 1, 1});
  const BSplineGrid<3> grid = gridAcross<3>(lattice, {5, 5, 5}, 3);
  ImageGeometry<3> turned = lattice, flipped = lattice;
  turned.direction = multiply<3>(lattice.direction, {{{1, -1e-9, 0}, {1e-9, 1, 0}, {0, 0, 1}}});
  for (auto& row : flipped.direction)
    row[1] = -row[1];
  BSplineGrid<3> cyclic = grid;
  cyclic.cyclic = true;

  EXPECT_TRUE(alignedFieldOf(grid, lattice));
  EXPECT_FALSE(alignedFieldOf(grid, turned));
  EXPECT_FALSE(alignedFieldOf(grid, flipped));
  EXPECT_FALSE(alignedFieldOf(cyclic, lattice));
}

/// How many of the voxels of a row, of which some lie on both borders of the grid to rounding, are not inside
/// or outside as their points are. All control points move by 1 mm, so that this is what inside moves by.
int disagreements(double spacingMm, int voxelsASpacing, double originMm, int order)
{
  constexpr int cells = 4;
  BSplineGrid<2> grid{
      {{static_cast<std::size_t>(cells + order), 8}, {spacingMm, 10}, {originMm, 0}, identityMatrix<2>()},
      order,
      false};
  ImageGeometry<2> lattice{{static_cast<std::size_t>(voxelsASpacing * (cells + 4)), 1},
                           {spacingMm / voxelsASpacing, 1},
                           {},
                           identityMatrix<2>()};
  lattice.originMm = {originMm + spacingMm * ((order - 1) / 2.0 - 2), 35};
  const TransformChain<2> chain = bsplineChain<2>(grid, std::vector<double>(grid.parameterCount(), 1.0));
  const AlignedField<2> field = *alignedFieldOf(grid, lattice);
  const AffineMap<2> pointFromIndex = lattice.pointFromIndex();
  checks::Points<2> points(lattice.size[0]);
  for (std::size_t i = 0; i < lattice.size[0]; ++i) {
    const Vec<2> point = pointFromIndex({static_cast<double>(i), 0});
    points.mm[0][i] = point[0];
    points.mm[1][i] = point[1];
  }
  const checks::Points<2> moved = checks::mapped<2>(*chain.transform, chain.parameters, points);
  int count = 0, inside = 0;
  for (std::size_t i = 0; i < lattice.size[0]; ++i) {
    const bool isInside = moved.mm[0][i] - points.mm[0][i] > 0.5;
    count += isInside != supportOf(field.axes[0], static_cast<int>(i), order).inside;
    inside += isInside;
  }
  EXPECT_NEAR(inside, cells * voxelsASpacing, 1); // one more or less by rounding
  return count;
}

TEST(BSplineLattice, VoxelsOnABorderLieOnTheSideOfTheirPoints)
{
  for (const int order : {1, 2, 3})
    for (const int voxelsASpacing : {1, 3, 7, 10})
      for (int i = 0; i < 40; ++i)
        ASSERT_EQ(disagreements(0.1 + 0.737 * i, voxelsASpacing, -33.3 + 7.1 * i, order), 0)
            << "order " << order << ", " << voxelsASpacing << " voxels a spacing, case " << i;
}

}
}
