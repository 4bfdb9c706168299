// on: CPU, GPU
#include "Components/Transforms/Shared/BendingEnergyPass.h"

#include "Testing/Support/OnGpu/DeviceUnderTest.h"
#include "Testing/Support/Scenes/BendingEnergyCases.h"

#include <algorithm>
#include <vector>

namespace tessera {
namespace {

using namespace testing;

const bool isOnCuda = deviceUnderTest().kind == DeviceKind::cuda;

/// The threads of the kernels, one after the other: returns the value and writes the gradient.
template <int D>
double energyByPasses(const ExactBendingEnergy<D>& energy, const std::vector<double>& coefficients,
                      std::vector<double>& gradient)
{
  const std::size_t count = coefficients.size();
  std::vector<double> before = coefficients;
  std::size_t stride = 1;
  for (int d = 0; d < D; ++d) {
    const BendingBands& axis = energy.bands()[d];
    const BendingPass pass{axis.values.data(), static_cast<std::size_t>(axis.points), stride, count};
    std::vector<double> after(3 * count);
    for (std::size_t i = 0; i < count; ++i) {
      double sums[3];
      d == 0 ? pass.contract<1>(before.data(), i, sums) : pass.contract<3>(before.data(), i, sums);
      for (int p = 0; p < 3; ++p)
        after[p * count + i] = sums[p];
    }
    before = std::move(after);
    stride *= pass.points;
  }
  double value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value += coefficients[i] * before[2 * count + i];
    gradient[i] = 2 * before[2 * count + i];
  }
  return value;
}

/// The value, and the gradient with an untouched number behind it, by the GPU, or by its threads run on the
/// CPU.
template <int D>
std::pair<double, std::vector<double>> byPasses(Context& context, ExactBendingEnergy<D>& energy,
                                                const std::vector<double>& coefficients,
                                                bool withGradient = true)
{
  const std::size_t count = coefficients.size();
  std::vector<double> gradient(count + 1, 1e30); // must be overwritten
  if (!isOnCuda)
    return {energyByPasses<D>(energy, coefficients, gradient), gradient};
  Buffer<double> from, to, value(context, 1);
  from.fromHost(context, coefficients);
  to.fromHost(context, gradient);
  energy.evaluateOnCuda(context, from.span(), withGradient ? to.span().first(count) : std::span<double>(),
                        value.span().data());
  return {value.toHost(context)[0], to.toHost(context)};
}

template <int D>
void expectPassesAgree(ExactBendingEnergy<D>& energy, const std::vector<double>& coefficients)
{
  Context context = contextUnderTest(); // whose stream all calls are on
  std::vector<double> expected;
  const double expectedValue = energyOf(energy, coefficients, &expected);
  const auto [value, gradient] = byPasses<D>(context, energy, coefficients);
  EXPECT_NEAR(value, expectedValue, 1e-13 * expectedValue); // sums in another order
  EXPECT_EQ(byPasses<D>(context, energy, coefficients), std::pair(value, gradient));
  EXPECT_EQ(byPasses<D>(context, energy, coefficients, false).first, value);
  const double largest = *std::max_element(expected.begin(), expected.end());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(gradient[i], expected[i], 1e-13 * largest) << i;
  EXPECT_EQ(gradient.back(), 1e30);
}

template <int D>
void expectPassesAgree(const BSplineGrid<D>& grid, const Vec<D>& low, const Vec<D>& high)
{
  const std::vector<double> coefficients = displacedPoints<D>(grid, 5);
  ExactBendingEnergy<D> energy(grid, imageInGrid<D>(grid, low, high));
  expectPassesAgree<D>(energy, coefficients);
}

using BendingEnergyPassTest = DeviceTest;

TEST_F(BendingEnergyPassTest, OfManyGridsAgree)
{
  expectPassesAgree<3>(turnedGrid<3>({3, 3, 3}, 2), {0.6, 0.5, 0.7}, {1.4, 1.5, 1.2});
  expectPassesAgree<3>(turnedGrid<3>({4, 4, 4}), {1, 1, 1}, {2, 2, 2});
  expectPassesAgree<3>(turnedGrid<3>({9, 8, 7}, 2), {1.3, 2.25, 1.7}, {6.9, 4.5, 4.1});
  expectPassesAgree<3>(turnedGrid<3>({27, 52, 20}), {1.3, 2.25, 1}, {24.5, 49.9, 18});
  expectPassesAgree<3>(turnedGrid<3>({53, 26, 5}), {1.3, 2.25, 1.7}, {50.5, 22.9, 2.9});
  expectPassesAgree<2>(turnedGrid<2>({60, 33}), {1.3, 2.25}, {50.5, 30.9});
  expectPassesAgree<2>(turnedGrid<2>({5, 4}), {1.3, 1.25}, {2.5, 1.9});
  if (!isOnCuda) // the larger one takes too long
    return;
  expectPassesAgree<3>(turnedGrid<3>({104, 47, 79}), {1.3, 2.25, 1}, {100.5, 44.9, 77});
}

TEST_F(BendingEnergyPassTest, OfVoxelsAgree)
{
  const BSplineGrid<3> grid = turnedGrid<3>({70, 9, 8});
  auto form =
      ExactBendingEnergy<3>::overVoxels(grid, latticeIn<3>(grid, {1.25, 1.5, 1.2}, {67.6, 6.7, 5.8}, 1));
  ASSERT_TRUE(form);
  expectPassesAgree<3>(*form, displacedPoints<3>(grid, 6));
}

}
}
