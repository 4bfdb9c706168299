// needs: GPU
#include "Components/Transforms/Shared/ExactBendingEnergy.h"

#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/BendingEnergyCases.h"

#include <algorithm>

namespace tessera {
namespace {

using namespace testing;

struct Evaluated {
  double value = 0;
  std::vector<double> gradient;
};

template <int D>
Evaluated onGpu(ExactBendingEnergy<D>& energy, Context& context, const std::vector<double>& coefficients,
                bool withGradient = true)
{
  Buffer<double> from(context, coefficients.size()), gradient(context, coefficients.size()),
      value(context, 1);
  from.fromHost(context, coefficients);
  gradient.fromHost(context, std::vector<double>(coefficients.size(), 1e30)); // must be overwritten
  energy.evaluateOnCuda(context, from.span(), withGradient ? gradient.span() : std::span<double>(),
                        value.span().data());
  return {value.toHost(context)[0], gradient.toHost(context)};
}

template <int D>
void expectTheCpus(const BSplineGrid<D>& grid, const Vec<D>& low, const Vec<D>& high)
{
  const std::vector<double> coefficients = displacedPoints<D>(grid, 1);
  ExactBendingEnergy<D> energy(grid, imageInGrid<D>(grid, low, high));
  Context cpu, gpu = makeContext({DeviceKind::cuda, 0}, 1);
  std::vector<double> expected(coefficients.size());
  const double value = energy.evaluate(cpu, coefficients, expected);
  const Evaluated found = onGpu<D>(energy, gpu, coefficients);
  EXPECT_NEAR(found.value, value, 1e-13 * value); // sums in another order
  const double largest = *std::max_element(expected.begin(), expected.end());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(found.gradient[i], expected[i], 1e-13 * largest) << i;
}

TEST(ExactBendingEnergyOnCudaTest, IsTheCpus)
{
  TESSERA_NEEDS_GPU();
  expectTheCpus<3>(turnedGrid<3>({3, 3, 3}, 2), {0.6, 0.5, 0.7}, {1.4, 1.5, 1.2});
  expectTheCpus<3>(turnedGrid<3>({4, 4, 4}), {1, 1, 1}, {2, 2, 2});
  expectTheCpus<3>(turnedGrid<3>({9, 8, 7}, 2), {1.3, 2.25, 1.7}, {6.9, 4.5, 4.1});
  expectTheCpus<3>(turnedGrid<3>({104, 47, 79}), {1.3, 2.25, 1}, {100.5, 44.9, 77});
  expectTheCpus<3>(turnedGrid<3>({53, 26, 301}), {1.3, 2.25, 1.7}, {50.5, 22.9, 298.9});
  expectTheCpus<3>(turnedGrid<3>({169, 41, 6}), {1.3, 2.25, 1}, {150.5, 38.9, 4});
  expectTheCpus<3>(turnedGrid<3>({170, 5, 40}), {1, 1.3, 1}, {168, 2.8, 38});
  expectTheCpus<2>(turnedGrid<2>({160, 133}), {1.3, 2.25}, {150.5, 130.9});
  expectTheCpus<2>(turnedGrid<2>({5, 4}), {1.3, 1.25}, {2.5, 1.9});
}

TEST(ExactBendingEnergyOnCudaTest, RepeatsBitForBitWithAndWithoutTheGradient)
{
  TESSERA_NEEDS_GPU();
  const BSplineGrid<3> grid = turnedGrid<3>({60, 47, 40});
  ExactBendingEnergy<3> energy(grid);
  Context context = makeContext({DeviceKind::cuda, 0}, 1);
  const std::vector<double> coefficients = displacedPoints<3>(grid, 2);
  const Evaluated first = onGpu<3>(energy, context, coefficients),
                  second = onGpu<3>(energy, context, coefficients);
  EXPECT_EQ(first.value, second.value);
  EXPECT_EQ(first.gradient, second.gradient);
  EXPECT_EQ(onGpu<3>(energy, context, coefficients, false).value, first.value);
}

/// Rows are asked for by multiples of 16 bytes.
TEST(ExactBendingEnergyOnCudaTest, IsTheSameAtAnyAddress)
{
  TESSERA_NEEDS_GPU();
  const BSplineGrid<3> grid = turnedGrid<3>({66, 21, 9});
  ExactBendingEnergy<3> energy(grid);
  Context context = makeContext({DeviceKind::cuda, 0}, 1);
  const std::vector<double> coefficients = displacedPoints<3>(grid, 3);
  const Evaluated aligned = onGpu<3>(energy, context, coefficients);
  constexpr double untouched = 1e30;
  std::vector<double> shifted(coefficients);
  shifted.insert(shifted.begin(), untouched);
  Buffer<double> from(context, shifted.size()), gradient(context, shifted.size() + 1), value(context, 1);
  from.fromHost(context, shifted);
  gradient.fromHost(context, std::vector<double>(shifted.size() + 1, untouched));

  energy.evaluateOnCuda(context, from.span().subspan(1), gradient.span().subspan(1, coefficients.size()),
                        value.span().data());

  const std::vector<double> found = gradient.toHost(context);
  EXPECT_EQ(value.toHost(context)[0], aligned.value);
  EXPECT_EQ(std::vector<double>(found.begin() + 1, found.end() - 1), aligned.gradient);
  EXPECT_EQ(found.front(), untouched);
  EXPECT_EQ(found.back(), untouched);
}

}
}
