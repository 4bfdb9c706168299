#include "Components/Transforms/Shared/ExactBendingEnergy.h"

#include "Components/Metrics/TransformBendingEnergyPenalty.h"
#include "Testing/Support/Checks/TermChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Scenes/BendingEnergyCases.h"

#include <numeric>

namespace tessera {
namespace {

using namespace testing;

struct Node {
  double index, weight;
};

/// Nodes of an axis with which polynomials of degree 7 between the knots are integrated exactly; weights sum
/// to 1.
std::vector<Node> nodesOf(double low, double high, int order)
{
  constexpr std::array<Node, 4> rule{{{-0.8611363115940526, 0.1739274225687269},
                                      {-0.3399810435848563, 0.3260725774312731},
                                      {0.3399810435848563, 0.3260725774312731},
                                      {0.8611363115940526, 0.1739274225687269}}};
  if (low == high)
    return {{low, 1}};
  const double knot = order == 2 ? 0.5 : 0; // of all whole numbers apart from this
  std::vector<Node> nodes;
  for (double begin = low; begin < high;) {
    const double end = std::min(std::floor(begin - knot) + 1 + knot, high);
    for (const Node& node : rule)
      nodes.push_back(
          {(begin + end) / 2 + (end - begin) / 2 * node.index, (end - begin) / (high - low) * node.weight});
    begin = end;
  }
  return nodes;
}

/// Sum over components and i, j of (d^2 u / dx_i dx_j)^2 at a grid index.
template <int D>
double squaredSecondDerivatives(const BSplineGrid<D>& grid, const BSplineField<D>& field,
                                const std::vector<double>& coefficients, const Vec<D>& index)
{
  const Vec<D> pointMm = grid.points.pointFromIndex()(index);
  ListSamples<D> point;
  for (int d = 0; d < D; ++d)
    point.pointMm[d] = &pointMm[d];
  point.count = 1;
  double jacobian[D * D], hessian[D * symmetricCount(D)], sum = 0;
  field.derivatives(point, coefficients.data(), jacobian, hessian);
  for (int k = 0, at = 0; k < D; ++k)
    for (int i = 0; i < D; ++i)
      for (int j = i; j < D; ++j, ++at)
        sum += (i == j ? 1 : 2) * hessian[at] * hessian[at];
  return sum;
}

/// The mean of squared second derivatives from the transform's own, point by point.
template <int D>
double integratedEnergy(const BSplineGrid<D>& grid, const std::vector<double>& coefficients,
                        const Vec<D>& low, const Vec<D>& high)
{
  const BSplineField<D> field(grid);
  std::array<std::vector<Node>, D> nodes;
  std::size_t count = 1;
  for (int d = 0; d < D; ++d) {
    nodes[d] = nodesOf(low[d], high[d], grid.order);
    count *= nodes[d].size();
  }
  double sum = 0;
  for (std::size_t n = 0; n < count; ++n) {
    Vec<D> index;
    double weight = 1;
    std::size_t rest = n;
    for (int d = 0; d < D; ++d) {
      const Node& node = nodes[d][rest % nodes[d].size()];
      rest /= nodes[d].size();
      index[d] = node.index;
      weight *= node.weight;
    }
    sum += weight * squaredSecondDerivatives<D>(grid, field, coefficients, index);
  }
  return sum;
}

template <int D>
void expectIntegral(const BSplineGrid<D>& grid, const Vec<D>& low, const Vec<D>& high)
{
  const std::vector<double> coefficients = displacedPoints<D>(grid, 1);
  ExactBendingEnergy<D> energy(grid, imageInGrid<D>(grid, low, high));
  const double value = energyOf<D>(energy, coefficients),
               expected = integratedEnergy<D>(grid, coefficients, low, high);
  EXPECT_NEAR(value, expected,
              1e-10 * expected); // some thousand roundings, and those of the point in the grid
}

TEST(ExactBendingEnergyTest, IsTheIntegralOverTheBoxWithPartialCells)
{
  expectIntegral<3>(turnedGrid<3>({9, 8, 7}), {1.3, 2.25, 1.7}, {6.9, 4.5, 4.1});
  expectIntegral<3>(turnedGrid<3>({9, 8, 7}, 2), {1.3, 2.25, 1.7}, {6.9, 4.5, 4.1});
  expectIntegral<2>(turnedGrid<2>({12, 9}), {1, 1}, {10, 7});
  expectIntegral<2>(turnedGrid<2>({12, 9}, 2), {0.5, 2.3}, {10.5, 2.4});
}

TEST(ExactBendingEnergyTest, OfAnImageOfOneSliceIsThatInItsPlane)
{
  expectIntegral<3>(turnedGrid<3>({7, 8, 6}), {1.3, 2.25, 2.6}, {4.9, 4.5, 2.6});
}

TEST(ExactBendingEnergyTest, BoxesAreCutToTheValidRegion)
{
  const BSplineGrid<2> grid = turnedGrid<2>({9, 8});
  const std::vector<double> coefficients = displacedPoints<2>(grid, 2);
  ExactBendingEnergy<2> larger(grid, imageInGrid<2>(grid, {-3, -4}, {12, 6})), whole(grid);
  EXPECT_EQ(energyOf(larger, coefficients), energyOf(whole, coefficients));
  EXPECT_NEAR(energyOf(whole, coefficients), integratedEnergy<2>(grid, coefficients, {1, 1}, {7, 6}),
              1e-10 * energyOf(whole, coefficients));
}

TEST(ExactBendingEnergyTest, GradientMatchesFiniteDifferences)
{
  const BSplineGrid<3> grid = turnedGrid<3>({7, 6, 8});
  ExactBendingEnergy<3> energy(grid, imageInGrid<3>(grid, {1.3, 2.25, 1.7}, {4.9, 3.5, 5.1}));
  const std::vector<double> coefficients = displacedPoints<3>(grid, 3);
  std::vector<double> gradient;
  const double value = energyOf(energy, coefficients, &gradient);
  for (std::uint64_t trial = 0; trial < 5; ++trial) {
    const std::vector<double> direction = checks::randomVector(coefficients.size(), trial + 7);
    const auto at = [&](double step) {
      std::vector<double> moved = coefficients;
      for (std::size_t i = 0; i < moved.size(); ++i)
        moved[i] += step * direction[i];
      return energyOf(energy, moved);
    };
    const double slope = std::inner_product(gradient.begin(), gradient.end(), direction.begin(), 0.0);
    EXPECT_NEAR(slope, (at(1) - at(-1)) / 2, 1e-12 * value * 10); // a quadratic form: rounding alone is left
  }
}

TEST(ExactBendingEnergyTest, AffineDisplacementsHaveNone)
{
  const BSplineGrid<3> grid = turnedGrid<3>({9, 8, 7});
  std::vector<double> coefficients(grid.parameterCount()), gradient;
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    const std::size_t k = i % grid.pointCount();
    coefficients[i] = 3 + 0.5 * static_cast<double>(k % 9) - 0.25 * static_cast<double>(k / 9 % 8)
                      + static_cast<double>(k / 72);
  }
  ExactBendingEnergy<3> energy(grid, imageInGrid<3>(grid, {1.3, 2.25, 1.7}, {6.9, 4.5, 4.1}));
  // Squares of some 10 mm over squares of squares of some 6 mm, but for roundings.
  EXPECT_NEAR(energyOf(energy, coefficients, &gradient), 0, 1e-14);
  for (const double slope : gradient)
    EXPECT_NEAR(slope, 0, 1e-14);
}

TEST(ExactBendingEnergyTest, IsTheSameForAnyThreadCount)
{
  const BSplineGrid<3> grid = turnedGrid<3>({9, 8, 17});
  ExactBendingEnergy<3> energy(grid);
  const std::vector<double> coefficients = displacedPoints<3>(grid, 4);
  std::vector<double> one, other;
  const double value = energyOf(energy, coefficients, &one, 1);
  for (const int threadCount : {2, 3}) {
    EXPECT_EQ(energyOf(energy, coefficients, &other, threadCount), value);
    EXPECT_EQ(other, one);
  }
}

TEST(ExactBendingEnergyTest, RefusesWhatHasNoClosedForm)
{
  BSplineGrid<2> grid = turnedGrid<2>({9, 8});
  const ImageGeometry<2> image = imageInGrid<2>(grid, {1.5, 2}, {5, 5});
  const auto refusal = [&](const ImageGeometry<2>& of) {
    return errorText([&] { ExactBendingEnergy<2> energy(grid, of); });
  };
  ImageGeometry<2> turned = image, outside = image;
  turned.direction = identityMatrix<2>();
  outside.originMm[0] += 1000;
  EXPECT_PRED2(contains, refusal(turned), "axes are not the grid's");
  EXPECT_PRED2(contains, refusal(outside), "nothing of the image");
  grid.cyclic = true;
  EXPECT_PRED2(contains, refusal(image), "cyclic");
  grid.cyclic = false;
  grid.order = 1;
  EXPECT_PRED2(contains, refusal(image), "order 1");
}

TEST(ExactBendingEnergyTest, PenaltyIsWhatManySamplesGiveAndNeedsNone)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useBSpline();
  Context context = threads(2);
  TransformBendingEnergyPenalty<3> sampled(parametersOf("", 3, 1, "Metric0"));
  TransformBendingEnergyPenalty<3> exact(
      parametersOf("(BendingEnergyIntegration \"Exact\")", 3, 1, "Metric0"));
  sampled.prepareForLevel(context, scene.level);
  exact.prepareForLevel(context, scene.level);
  EXPECT_TRUE(sampled.needsSampler());
  EXPECT_FALSE(exact.needsSampler());

  const double value = exact.evaluate(context, {}, scene.chain->parameters, {}).value;

  // The spread of the mean of 60000 samples whose own spread is about the mean.
  EXPECT_NEAR(sampled.evaluate(context, scene.points(60000, 0), scene.chain->parameters, {}).value, value,
              0.02 * value);
  expectGradientMatchesFiniteDifferences<3>(exact, {}, scene.chain->parameters, 1e-3, 1e-8);
}

TEST(ExactBendingEnergyTest, PenaltyTakesTheLastTransformAloneAndNoOtherThanABSpline)
{
  TermScene<2> scene(1, {40, 36});
  const auto exact = [&] {
    Context context = threads(2);
    TransformBendingEnergyPenalty<2> penalty(
        parametersOf("(BendingEnergyIntegration \"Exact\")", 2, 1, "Metric0"));
    penalty.prepareForLevel(context, scene.level);
    return penalty.evaluate(context, {}, scene.chain->parameters, {}).value;
  };
  scene.useBSpline();
  const double alone = exact();
  scene.useAsInitial(Combination::add);
  scene.useBSpline();
  EXPECT_EQ(exact(), alone);
  scene.useAffine();
  EXPECT_PRED2(contains, errorText(exact), "\"Exact\" with (Transform \"AffineTransform\")");
}

template <int D>
void expectTheMeanOverVoxels(const BSplineGrid<D>& grid, const Vec<D>& low, const Vec<D>& high,
                             std::size_t step)
{
  const VoxelLattice<D> lattice = latticeIn<D>(grid, low, high, step);
  auto form = ExactBendingEnergy<D>::overVoxels(grid, lattice);
  ASSERT_TRUE(form);
  const std::vector<double> coefficients = displacedPoints<D>(grid, 5);
  const PointList<D> points = [&] {
    PointList<D> list;
    const AffineMap<D> toPoint = lattice.image->geometry.pointFromIndex();
    for (std::size_t i = 0; i < lattice.positions(); ++i) {
      Vec<D> index;
      for (std::size_t d = 0, rest = i; d < D; rest /= lattice.count[d++])
        index[d] = static_cast<double>(lattice.first[d] + lattice.step[d] * (rest % lattice.count[d]));
      for (int d = 0; d < D; ++d)
        list.mm[d].push_back(toPoint(index)[d]);
    }
    return list;
  }();
  const BSplineField<D> field(grid);
  double expected = 0;
  std::vector<double> expectedGradient(coefficients.size(), 0.0);
  const std::size_t S = symmetricCount(D);
  for (std::size_t i = 0; i < points.mm[0].size(); ++i) {
    ListSamples<D> one;
    for (int d = 0; d < D; ++d)
      one.pointMm[d] = points.mm[d].data() + i;
    one.count = 1;
    std::vector<double> jacobian(D * D), hessian(D * S);
    field.derivatives(one, coefficients.data(), jacobian.data(), hessian.data());
    for (std::size_t k = 0; k < D; ++k)
      for (int a = 0, s = 0; a < D; ++a)
        for (int b = a; b < D; ++b, ++s) {
          double& h = hessian[k * S + s];
          expected += (a == b ? 1 : 2) * h * h;
          h *= a == b ? 2 : 4;
        }
    field.pullBackDerivatives(one, nullptr, hessian.data(), expectedGradient.data());
  }
  const auto count = static_cast<double>(lattice.positions());

  std::vector<double> gradient;
  const double value = energyOf(*form, coefficients, &gradient);

  EXPECT_NEAR(value, expected / count, 1e-12 * value); // sums in another order
  const double largest = *std::max_element(gradient.begin(), gradient.end());
  for (std::size_t i = 0; i < gradient.size(); ++i)
    ASSERT_NEAR(gradient[i], expectedGradient[i] / count, 1e-12 * largest) << i;
}

TEST(ExactBendingEnergyTest, OfVoxelsIsTheMeanOverTheirPoints)
{
  expectTheMeanOverVoxels<3>(turnedGrid<3>({9, 8, 7}), {1.3, 2.25, 1.7}, {6.9, 4.5, 4.1}, 1);
  expectTheMeanOverVoxels<3>(turnedGrid<3>({9, 8, 7}), {0.3, 2.25, 1.7}, {7.9, 7.5, 4.1},
                             1); // some outside of the valid region
  expectTheMeanOverVoxels<3>(turnedGrid<3>({9, 8, 7}), {1.3, 2.25, 1.7}, {6.9, 4.5, 4.1}, 2);
  expectTheMeanOverVoxels<2>(turnedGrid<2>({12, 9}), {1.3, 1.25}, {10.5, 6.9}, 1);
}

TEST(ExactBendingEnergyTest, OfVoxelsHasNoFormWherePointsDecide)
{
  const auto hasForm = [](const BSplineGrid<2>& grid, const Vec<2>& low) {
    return ExactBendingEnergy<2>::overVoxels(grid, latticeIn<2>(grid, low, {6.5, 4.5}, 1)).has_value();
  };
  const BSplineGrid<2> grid = turnedGrid<2>({9, 8});
  EXPECT_TRUE(hasForm(grid, {1.3, 2.25}));
  EXPECT_FALSE(hasForm(grid, {1, 2.25})) << "voxels on the border of the valid region";
  EXPECT_FALSE(hasForm(turnedGrid<2>({9, 8}, 2), {1.3, 2.25})) << "second derivatives that jump";
  BSplineGrid<2> cyclic = grid;
  cyclic.cyclic = true;
  EXPECT_FALSE(hasForm(cyclic, {1.3, 2.25}));
  VoxelLattice<2> turned = latticeIn<2>(grid, {1.3, 2.25}, {6.5, 4.5}, 1);
  BSplineGrid<2> straight = grid;
  straight.points.direction = identityMatrix<2>();
  EXPECT_FALSE(ExactBendingEnergy<2>::overVoxels(straight, turned));
}

TEST(ExactBendingEnergyTest, TheSampledPenaltyOfALatticeIsThatOfItsPoints)
{
  TermScene<3> scene(1, {24, 20, 18});
  scene.useAffine();
  scene.useAsInitial(Combination::add);
  scene.useBSpline();
  Context context = threads(2);
  TransformBendingEnergyPenalty<3> sampled(parametersOf("", 3, 1, "Metric0"));
  sampled.prepareForLevel(context, scene.level);
  for (const std::size_t step : {1, 3}) {
    const SampleSet<3> lattice = scene.lattice(step);
    const TermValue ofLattice = sampled.evaluate(context, lattice, scene.chain->parameters, {});
    const TermValue ofPoints = sampled.evaluate(context, allSamples<3>(lattice), scene.chain->parameters, {});
    EXPECT_NEAR(ofLattice.value, ofPoints.value, 1e-12 * ofPoints.value);
    EXPECT_EQ(ofLattice.valid, ofPoints.valid);
    EXPECT_EQ(ofLattice.asked, ofPoints.asked);
    expectGradientMatchesFiniteDifferences<3>(sampled, lattice, scene.chain->parameters, 1e-3, 1e-8);
  }
}

}
}
