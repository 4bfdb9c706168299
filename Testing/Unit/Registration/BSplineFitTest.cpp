#include "Core/Registration/Fields/BSplineFit.h"

#include "Core/Registration/Fields/TransformFields.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/BSplineChains.h"

#include <cmath>
#include <limits>

namespace tessera {
namespace {

using namespace testing;

template <int D>
ImageGeometry<D> smallLattice()
{
  if constexpr (D == 2)
    return turnedLattice<2>({31, 26}, {1.1, 1.7});
  else
    return turnedLattice<3>({19, 17, 14}, {1.1, 1.7, 2.3});
}

template <int D>
Vec<D> spacingOf(double voxels)
{
  Vec<D> spacingMm = smallLattice<D>().spacingMm;
  for (double& spacing : spacingMm)
    spacing *= voxels;
  return spacingMm;
}

template <int D>
VectorImage<D> fieldOf(const BSplineGrid<D>& grid, const std::vector<double>& coefficients)
{
  return displacementField<D>(host, bsplineChain<D>(grid, coefficients), smallLattice<D>());
}

/// The sum over voxels with a displacement of |spline - displacement|^2.
template <int D>
double squaresOf(const BSplineGrid<D>& grid, const std::vector<double>& coefficients,
                 const VectorImage<D>& displacements)
{
  const VectorImage<D> fitted = fieldOf<D>(grid, coefficients);
  double sum = 0;
  for (std::size_t i = 0; i < fitted.voxels.size(); ++i)
    if (!std::isnan(displacements.voxels[i]))
      sum += std::pow(static_cast<double>(fitted.voxels[i]) - displacements.voxels[i], 2);
  return sum;
}

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Takes the displacements of a box away, and of every 11th voxel.
template <int D>
std::size_t makeGaps(VectorImage<D>& field)
{
  std::size_t gaps = 0;
  for (std::size_t v = 0; v < field.geometry.voxelCount(); ++v) {
    bool inBox = true;
    for (std::size_t d = 0, rest = v; d < D; rest /= field.geometry.size[d++])
      inBox = inBox && rest % field.geometry.size[d] < 6;
    if (inBox || v % 11 == 0) {
      ++gaps;
      for (int d = 0; d < D; ++d)
        field.voxels[v * D + d] = static_cast<float>(nan);
    }
  }
  return gaps;
}

template <class Dimension>
class BSplineFitTest : public ::testing::Test {
public:
  static constexpr int D = Dimension::value;
};
using Dimensions = ::testing::Types<std::integral_constant<int, 2>, std::integral_constant<int, 3>>;
TYPED_TEST_SUITE(BSplineFitTest, Dimensions);

TYPED_TEST(BSplineFitTest, FindsTheSplineThatTheDisplacementsAre)
{
  constexpr int D = TestFixture::D;
  for (int order = 1; order <= 3; ++order)
    for (const bool gaps : {false, true}) {
      const BSplineGrid<D> grid = gridOver<D>(smallLattice<D>(), spacingOf<D>(3.7), order, false);
      VectorImage<D> field = fieldOf<D>(grid, checks::randomVector(grid.parameterCount(), 5, -2, 2));
      if (gaps)
        makeGaps(field);
      const std::vector<double> found =
          fitBSpline<D>(Context{}, grid, field, AffineMap<D>{identityMatrix<D>(), {}});
      const double meanSquare = squaresOf<D>(grid, found, field) / static_cast<double>(field.voxels.size());
      EXPECT_LT(std::sqrt(meanSquare), 1e-4) << "order " << order << (gaps ? " with gaps" : "");
    }
}

TYPED_TEST(BSplineFitTest, ContinuesLinearDisplacementsIntoGaps)
{
  constexpr int D = TestFixture::D;
  AffineMap<D> map{identityMatrix<D>(), {}};
  map.matrix[0][1] = 0.1;
  map.matrix[1][1] = 1.2;
  map.offset[0] = 3;
  const ImageGeometry<D> lattice = smallLattice<D>();
  VectorImage<D> exact{lattice, D, {}};
  for (std::size_t v = 0; v < lattice.voxelCount(); ++v) {
    const Vec<D> pointMm = lattice.pointFromIndex()(indexOfVoxel<D>(lattice.size, v)),
                 mappedMm = map(pointMm);
    for (int d = 0; d < D; ++d)
      exact.voxels.push_back(static_cast<float>(mappedMm[d] - pointMm[d]));
  }
  VectorImage<D> withGaps = exact;
  ASSERT_GT(makeGaps(withGaps), 10u);
  for (int order = 1; order <= 3; ++order) {
    const BSplineGrid<D> grid = gridOver<D>(lattice, spacingOf<D>(4.2), order, false);
    const VectorImage<D> found = fieldOf<D>(grid, fitBSpline<D>(Context{}, grid, withGaps, map));
    EXPECT_LE(largestDifference(found.voxels, exact.voxels), 1e-4) << "order " << order;
  }
}

TYPED_TEST(BSplineFitTest, NoOtherCoefficientsAreNearer)
{
  constexpr int D = TestFixture::D;
  const ImageGeometry<D> lattice = smallLattice<D>();
  const BSplineGrid<D> grid = gridOver<D>(lattice, spacingOf<D>(4.2), 3, false);
  VectorImage<D> field{lattice, D, {}};
  for (const double value : checks::randomVector(D * lattice.voxelCount(), 7, -2, 2))
    field.voxels.push_back(static_cast<float>(value));
  makeGaps(field);
  const std::vector<double> best =
      fitBSpline<D>(Context{}, grid, field, AffineMap<D>{identityMatrix<D>(), {}});
  const double least = squaresOf<D>(grid, best, field);
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::vector<double> other = checks::randomVector(best.size(), seed, -0.05, 0.05);
    for (std::size_t i = 0; i < other.size(); ++i)
      other[i] += best[i];
    EXPECT_LT(least, squaresOf<D>(grid, other, field));
    for (std::size_t i = 0; i < other.size(); ++i)
      other[i] = best[i] * (seed % 2 ? 1.01 : 0.99);
    EXPECT_LT(least, squaresOf<D>(grid, other, field));
  }
}

TYPED_TEST(BSplineFitTest, IsTheSameForAnyNumberOfThreads)
{
  constexpr int D = TestFixture::D;
  const BSplineGrid<D> grid = gridOver<D>(smallLattice<D>(), spacingOf<D>(3.7), 3, false);
  VectorImage<D> field = fieldOf<D>(grid, checks::randomVector(grid.parameterCount(), 5, -2, 2));
  makeGaps(field);
  const AffineMap<D> identity{identityMatrix<D>(), {}};
  EXPECT_EQ(fitBSpline<D>(Context{Device{}, 1}, grid, field, identity),
            fitBSpline<D>(Context{Device{}, 3}, grid, field, identity));
}

TEST(BSplineFit, RefusesGridsThatDoNotCoverTheLattice)
{
  const ImageGeometry<2> lattice = smallLattice<2>();
  BSplineGrid<2> grid = gridOver<2>(lattice, spacingOf<2>(4.2), 3, false);
  VectorImage<2> field{lattice, 2, std::vector<float>(2 * lattice.voxelCount())};
  const AffineMap<2> identity{identityMatrix<2>(), {}};
  --grid.points.size[0];
  --grid.points.size[0];
  EXPECT_PRED2(contains, errorText([&] { fitBSpline<2>(Context{}, grid, field, identity); }),
               "outside of the grid");
  grid = gridOver<2>(lattice, spacingOf<2>(4.2), 3, false);
  grid.points.direction = identityMatrix<2>();
  EXPECT_PRED2(contains, errorText([&] { fitBSpline<2>(Context{}, grid, field, identity); }),
               "along the axes");
}

}
}
