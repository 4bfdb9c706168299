#include "Components/Transforms/Shared/BendingEnergyLines.h"

#include "Testing/Support/Naive/BendingLinesOnCpu.h"
#include "Testing/Support/Scenes/BendingEnergyCases.h"

#include <algorithm>

namespace tessera {
namespace {

using namespace testing;

/// The value and gradient by the GPU's lines, run on the CPU.
template <int D>
void expectLinesAgree(ExactBendingEnergy<D>& energy, const std::vector<double>& coefficients)
{
  std::vector<double> expected, gradient(coefficients.size(), NAN);
  const double value = energyOf(energy, coefficients, &expected);
  EXPECT_NEAR(bendingByLines<D>(energy, coefficients, gradient.data()), value,
              1e-13 * value); // sums in another order
  EXPECT_EQ(bendingByLines<D>(energy, coefficients, nullptr),
            bendingByLines<D>(energy, coefficients, gradient.data()));
  const double largest = *std::max_element(expected.begin(), expected.end());
  for (std::size_t i = 0; i < gradient.size(); ++i)
    ASSERT_NEAR(gradient[i], expected[i], 1e-13 * largest) << i;
}

template <int D>
void expectLinesAgree(const BSplineGrid<D>& grid, const Vec<D>& low, const Vec<D>& high)
{
  const std::vector<double> coefficients = displacedPoints<D>(grid, 5);
  ExactBendingEnergy<D> energy(grid, imageInGrid<D>(grid, low, high));
  expectLinesAgree<D>(energy, coefficients);
}

TEST(BendingEnergyLinesTest, OfManyGridsAgree)
{
  expectLinesAgree<3>(turnedGrid<3>({3, 3, 3}, 2), {0.6, 0.5, 0.7}, {1.4, 1.5, 1.2});
  expectLinesAgree<3>(turnedGrid<3>({4, 4, 4}), {1, 1, 1}, {2, 2, 2});
  expectLinesAgree<3>(turnedGrid<3>({9, 8, 7}, 2), {1.3, 2.25, 1.7}, {6.9, 4.5, 4.1});
  expectLinesAgree<3>(turnedGrid<3>({27, 52, 20}), {1.3, 2.25, 1}, {24.5, 49.9, 18});
  expectLinesAgree<3>(turnedGrid<3>({53, 26, 5}), {1.3, 2.25, 1.7}, {50.5, 22.9, 2.9});
  expectLinesAgree<2>(turnedGrid<2>({60, 33}), {1.3, 2.25}, {50.5, 30.9});
  expectLinesAgree<2>(turnedGrid<2>({5, 4}), {1.3, 1.25}, {2.5, 1.9});
}

TEST(BendingEnergyLinesTest, OfAnyNumberOfTilesAgree)
{
  for (const std::size_t points : {32, 33, 58, 59, 84, 169}) {
    const double last = static_cast<double>(points) - 2;
    expectLinesAgree<3>(turnedGrid<3>({points, 5, 4}), {1, 1.3, 1}, {last - 0.4, 2.8, 2});
    expectLinesAgree<2>(turnedGrid<2>({points, 6}), {2.6, 1}, {last, 4});
  }
}

TEST(BendingEnergyLinesTest, OfAnyNumberOfSlicesAgree)
{
  for (const std::size_t points : {8, 9, 16, 21, 22, 23, 47}) {
    const double last = static_cast<double>(points) - 2;
    expectLinesAgree<3>(turnedGrid<3>({5, 7, points}), {1, 1.3, 1}, {3, 4.8, last});
    expectLinesAgree<3>(turnedGrid<3>({5, 7, points}), {1, 1.3, 3.6}, {3, 4.8, last - 0.3});
  }
}

TEST(BendingEnergyLinesTest, OfEveryLengthAgree)
{
  for (std::size_t points = 5; points < 30; ++points)
    expectLinesAgree<2>(turnedGrid<2>({6, points}), {1, 1.2}, {3.5, static_cast<double>(points) - 2.1});
}

TEST(BendingEnergyLinesTest, AgreeWhereNoBandsAreEqual)
{
  const BSplineGrid<3> grid = turnedGrid<3>({70, 9, 8});
  auto form =
      ExactBendingEnergy<3>::overVoxels(grid, latticeIn<3>(grid, {1.25, 1.5, 1.2}, {67.6, 6.7, 5.8}, 1));
  ASSERT_TRUE(form);
  ASSERT_GT(form->bands()[1].firstWhole, form->bands()[1].lastWhole);
  expectLinesAgree<3>(*form, displacedPoints<3>(grid, 6));
}

}
}
