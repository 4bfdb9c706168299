// on: CPU, GPU
#include "Components/Transforms/Shared/BendingEnergyLines.h"

#include "Components/Transforms/Shared/BendingEnergyPlan.h"
#include "Testing/Support/OnGpu/DeviceUnderTest.h"
#include "Testing/Support/Scenes/BendingEnergyCases.h"

#include <algorithm>
#include <deque>
#include <vector>

namespace tessera {
namespace {

using namespace testing;

/// A warp of the bending energy's kernel, row by row, its lanes from shuffle to shuffle.
class BendingWarp {
public:
  BendingWarp(const bending::Plan& plan, int block, int tile, int component, int warp,
              const double* coefficients, double* gradient)
  {
    for (int lane = 0; lane < bending::lanes; ++lane)
      places_.emplace_back(plan, block, tile, component, warp, lane);
    for (const bending::Place& place : places_)
      lines_.emplace_back(plan, place, coefficients, gradient);
  }

  double value()
  {
    using namespace bending;
    for (int row = 0; !lines_[0].isDone(); ++row) {
      const int slot = row % neighbours;
      Row e[lanes];
      Passed passed[lanes];
      for (int lane = 0; lane < lanes; ++lane) {
        lines_[lane].contractAlongY(slot, e[lane]);
        passed[lane] = lines_[lane].passFirst(e[lane]);
      }
      shuffle(passed);
      for (Line& line : lines_)
        line.goOn(slot);
      for (int distance = reach - 1; distance > 0; --distance) {
        for (int lane = 0; lane < lanes; ++lane)
          passed[lane] = lines_[lane].passOn(distance, e[lane], passed[lane]);
        shuffle(passed);
      }
      for (int lane = 0; lane < lanes; ++lane)
        lines_[lane].finish(e[lane], passed[lane]);
    }
    double value = 0;
    for (const Line& line : lines_)
      value += line.value();
    return value;
  }

private:
  static void shuffle(bending::Passed (&passed)[bending::lanes])
  {
    using namespace bending;
    Passed received[lanes];
    for (int lane = 0; lane < lanes; ++lane)
      for (int l = 0; l < slicesOfLane; ++l) {
        received[lane].up[l] = passed[(lane + lanes - 1) % lanes].up[l];
        received[lane].down[l] = passed[(lane + 1) % lanes].down[l];
      }
    std::copy(received, received + lanes, passed);
  }

  std::vector<bending::Place> places_;
  std::deque<bending::Line> lines_;
};

/// The blocks of the bending energy's kernel, one after the other.
template <int D>
double bendingByLines(const ExactBendingEnergy<D>& energy, const std::vector<double>& coefficients,
                      double* gradient)
{
  const std::vector<double> table = bending::tableOf<D>(energy.bands());
  const bending::Plan plan = bending::planOf<D>(energy.bands(), table.data());
  double value = 0;
  for (int component = 0; component < plan.components; ++component)
    for (int tile = 0; tile < plan.tiles; ++tile)
      for (int block = 0; block < plan.blocksInLine(); ++block)
        for (int warp = 0; warp < bending::warps; ++warp)
          value += BendingWarp(plan, block, tile, component, warp, coefficients.data(), gradient).value();
  return value;
}

const bool isOnCuda = deviceUnderTest().kind == DeviceKind::cuda;

/// The value, and the gradient with an untouched number behind it, by the GPU, or by its lines run on the
/// CPU. The GPU asks for rows by multiples of 16 bytes: arrays there begin `shift` numbers behind such a
/// place.
template <int D>
std::pair<double, std::vector<double>> byLines(Context& context, ExactBendingEnergy<D>& energy,
                                               std::vector<double> coefficients, std::size_t shift,
                                               bool withGradient = true)
{
  const std::size_t count = coefficients.size();
  std::vector<double> gradient(shift + count + 1, 1e30); // must be overwritten
  if (!isOnCuda) {
    const double value = bendingByLines<D>(energy, coefficients, withGradient ? &gradient[shift] : nullptr);
    return {value, {gradient.begin() + static_cast<std::ptrdiff_t>(shift), gradient.end()}};
  }
  coefficients.insert(coefficients.begin(), shift, 1e30);
  Buffer<double> from, to, value(context, 1);
  from.fromHost(context, coefficients);
  to.fromHost(context, gradient);
  energy.evaluateOnCuda(context, from.span().subspan(shift),
                        withGradient ? to.span().subspan(shift, count) : std::span<double>(),
                        value.span().data());
  gradient = to.toHost(context);
  EXPECT_TRUE(shift == 0 || gradient.front() == 1e30);
  gradient.erase(gradient.begin(), gradient.begin() + static_cast<std::ptrdiff_t>(shift));
  return {value.toHost(context)[0], gradient};
}

template <int D>
void expectLinesAgree(ExactBendingEnergy<D>& energy, const std::vector<double>& coefficients)
{
  Context context = contextUnderTest(); // whose stream all calls are on
  std::vector<double> expected;
  const double expectedValue = energyOf(energy, coefficients, &expected);
  const auto [value, gradient] = byLines<D>(context, energy, coefficients, 0);
  EXPECT_NEAR(value, expectedValue, 1e-13 * expectedValue); // sums in another order
  EXPECT_EQ(byLines<D>(context, energy, coefficients, 1), std::pair(value, gradient));
  EXPECT_EQ(byLines<D>(context, energy, coefficients, 0, false).first, value);
  const double largest = *std::max_element(expected.begin(), expected.end());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(gradient[i], expected[i], 1e-13 * largest) << i;
  EXPECT_EQ(gradient.back(), 1e30);
}

template <int D>
void expectLinesAgree(const BSplineGrid<D>& grid, const Vec<D>& low, const Vec<D>& high)
{
  const std::vector<double> coefficients = displacedPoints<D>(grid, 5);
  ExactBendingEnergy<D> energy(grid, imageInGrid<D>(grid, low, high));
  expectLinesAgree<D>(energy, coefficients);
}

using BendingEnergyLinesTest = DeviceTest;

TEST_F(BendingEnergyLinesTest, OfManyGridsAgree)
{
  expectLinesAgree<3>(turnedGrid<3>({3, 3, 3}, 2), {0.6, 0.5, 0.7}, {1.4, 1.5, 1.2});
  expectLinesAgree<3>(turnedGrid<3>({4, 4, 4}), {1, 1, 1}, {2, 2, 2});
  expectLinesAgree<3>(turnedGrid<3>({9, 8, 7}, 2), {1.3, 2.25, 1.7}, {6.9, 4.5, 4.1});
  expectLinesAgree<3>(turnedGrid<3>({27, 52, 20}), {1.3, 2.25, 1}, {24.5, 49.9, 18});
  expectLinesAgree<3>(turnedGrid<3>({53, 26, 5}), {1.3, 2.25, 1.7}, {50.5, 22.9, 2.9});
  expectLinesAgree<2>(turnedGrid<2>({60, 33}), {1.3, 2.25}, {50.5, 30.9});
  expectLinesAgree<2>(turnedGrid<2>({5, 4}), {1.3, 1.25}, {2.5, 1.9});
  if (!isOnCuda) // the larger ones take too long
    return;
  expectLinesAgree<3>(turnedGrid<3>({104, 47, 79}), {1.3, 2.25, 1}, {100.5, 44.9, 77});
  expectLinesAgree<3>(turnedGrid<3>({53, 26, 301}), {1.3, 2.25, 1.7}, {50.5, 22.9, 298.9});
  expectLinesAgree<3>(turnedGrid<3>({169, 41, 6}), {1.3, 2.25, 1}, {150.5, 38.9, 4});
  expectLinesAgree<3>(turnedGrid<3>({170, 5, 40}), {1, 1.3, 1}, {168, 2.8, 38});
  expectLinesAgree<2>(turnedGrid<2>({160, 133}), {1.3, 2.25}, {150.5, 130.9});
}

TEST_F(BendingEnergyLinesTest, OfAnyNumberOfTilesAgree)
{
  for (const std::size_t points : {32, 33, 58, 59, 84, 169}) {
    const double last = static_cast<double>(points) - 2;
    expectLinesAgree<3>(turnedGrid<3>({points, 5, 4}), {1, 1.3, 1}, {last - 0.4, 2.8, 2});
    expectLinesAgree<2>(turnedGrid<2>({points, 6}), {2.6, 1}, {last, 4});
  }
}

TEST_F(BendingEnergyLinesTest, OfAnyNumberOfSlicesAgree)
{
  for (const std::size_t points : {8, 9, 16, 21, 22, 23, 47}) {
    const double last = static_cast<double>(points) - 2;
    expectLinesAgree<3>(turnedGrid<3>({5, 7, points}), {1, 1.3, 1}, {3, 4.8, last});
    expectLinesAgree<3>(turnedGrid<3>({5, 7, points}), {1, 1.3, 3.6}, {3, 4.8, last - 0.3});
  }
}

TEST_F(BendingEnergyLinesTest, OfEveryLengthAgree)
{
  for (std::size_t points = 5; points < 30; ++points)
    expectLinesAgree<2>(turnedGrid<2>({6, points}), {1, 1.2}, {3.5, static_cast<double>(points) - 2.1});
}

TEST_F(BendingEnergyLinesTest, AgreeWhereNoBandsAreEqual)
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
