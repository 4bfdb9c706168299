#include "Core/Registration/Chain/JoinedChain.h"
#include "Testing/Support/Checks/TransformChecks.h"

using namespace tessera;
using namespace tessera::checks;

namespace {

/// T_k(x) = x_k + mu_k + sum over s = (a <= b) of mu_(D + k S + s) x_a x_b: a model with a Hessian that
/// depends on its parameters.
template <int D>
class QuadraticTransform final : public OptimizableTransform<D>, public tessera::SpatialDerivatives<D> {
public:
  static constexpr int S = symmetricCount(D);

  std::string name() const override { return "QuadraticTransform"; }
  std::size_t parameterCount() const override { return D + D * S; }
  std::vector<double> initialize(Context&, const TransformStart<D>&) override
  {
    return std::vector<double>(parameterCount(), 0.0);
  }
  void prepareForLevel(Context&, std::size_t, std::vector<double>&) override {}
  std::vector<double> scales(Context&, const ListSamples<D>&, std::span<const double>) const override
  {
    return std::vector<double>(parameterCount(), 1.0);
  }
  void map(Context&, const ListSamples<D>& list, std::span<const double> mu,
           const PointsOut<D>& out) const override
  {
    for (int k = 0; k < D; ++k)
      for (std::size_t i = 0; i < list.count; ++i)
        out[k][i] = list.pointMm[k][i];
    addTerms(list, mu, out);
  }
  void pushForward(Context&, const ListSamples<D>& list, std::span<const double>,
                   std::span<const double> step, const PointsOut<D>& out) const override
  {
    for (int k = 0; k < D; ++k)
      std::fill_n(out[k], list.count, 0.0);
    addTerms(list, step, out);
  }
  void pullBack(Context&, const ListSamples<D>&, std::span<const double>, const Covectors<D>&,
                std::span<double>) const override
  {
  }
  JacobianTerms jacobianTerms(Context&, const ListSamples<D>&, std::span<const double>,
                              std::span<const double>) const override
  {
    return {};
  }
  void spatialDerivatives(Context&, const ListSamples<D>& list, std::span<const double> mu, double* jacobian,
                          double* hessian) const override
  {
    for (std::size_t i = 0; i < list.count; ++i)
      for (int k = 0; k < D; ++k) {
        double row[D] = {};
        row[k] = 1;
        for (int a = 0, s = 0; a < D; ++a)
          for (int b = a; b < D; ++b, ++s) {
            const double c = mu[D + k * S + s];
            row[a] += c * list.pointMm[b][i];
            row[b] += c * list.pointMm[a][i];
            if (hessian)
              hessian[(k * S + s) * list.count + i] = a == b ? 2 * c : c;
          }
        for (int a = 0; a < D; ++a)
          jacobian[(k * D + a) * list.count + i] = row[a];
      }
  }
  void pullBackSpatialDerivatives(Context&, const ListSamples<D>& list, std::span<const double>,
                                  const double* covJacobian, const double* covHessian,
                                  std::span<double> gradient) const override
  {
    for (std::size_t i = 0; i < list.count; ++i)
      for (int k = 0; k < D; ++k)
        for (int a = 0, s = 0; a < D; ++a)
          for (int b = a; b < D; ++b, ++s) {
            double& sum = gradient[D + k * S + s];
            if (covJacobian)
              sum += covJacobian[(k * D + a) * list.count + i] * list.pointMm[b][i]
                     + covJacobian[(k * D + b) * list.count + i] * list.pointMm[a][i];
            if (covHessian)
              sum += covHessian[(k * S + s) * list.count + i] * (a == b ? 2 : 1);
          }
  }
  bool hasHessian() const override { return true; }
  const tessera::SpatialDerivatives<D>* differentiable() const override { return this; }
  std::vector<FileEntry> fileEntries() const override { return {}; }
  std::vector<double> restore(const Context&, const Parameters&) override { return {}; }

private:
  void addTerms(const ListSamples<D>& list, std::span<const double> mu, const PointsOut<D>& out) const
  {
    for (int k = 0; k < D; ++k)
      for (std::size_t i = 0; i < list.count; ++i) {
        double sum = mu[k];
        for (int a = 0, s = 0; a < D; ++a)
          for (int b = a; b < D; ++b, ++s)
            sum += mu[D + k * S + s] * list.pointMm[a][i] * list.pointMm[b][i];
        out[k][i] += sum;
      }
  }
};

template <int D>
std::shared_ptr<TransformChain<D>> chainAfter(std::shared_ptr<TransformChain<D>> initial,
                                              Combination combination, std::uint64_t seed)
{
  const auto transform = std::make_shared<QuadraticTransform<D>>();
  return std::make_shared<TransformChain<D>>(TransformChain<D>{
      initial, combination, transform, randomVector(transform->parameterCount(), seed, -0.3, 0.3)});
}

/// Three transforms, the later two joined in the two given ways.
template <int D>
std::shared_ptr<TransformChain<D>> nestedChain(Combination second, Combination third)
{
  return chainAfter<D>(chainAfter<D>(chainAfter<D>(nullptr, Combination::compose, 1), second, 2), third, 3);
}

constexpr std::array<std::array<Combination, 2>, 4> joints{{{Combination::compose, Combination::compose},
                                                            {Combination::compose, Combination::add},
                                                            {Combination::add, Combination::compose},
                                                            {Combination::add, Combination::add}}};

template <int D>
Points<D> unitPoints(std::size_t count)
{
  return randomPoints<D>(count, 9, -1, 1);
}

}

template <class Dimension>
class TransformChainTest : public ::testing::Test {
public:
  static constexpr int D = Dimension::value;
};
using Dimensions = ::testing::Types<std::integral_constant<int, 2>, std::integral_constant<int, 3>>;
TYPED_TEST_SUITE(TransformChainTest, Dimensions);

TYPED_TEST(TransformChainTest, JoinedChainsMapOneAfterTheOther)
{
  constexpr int D = TestFixture::D;
  constexpr double step = 1e-6;
  Context context;
  const Points<D> points = unitPoints<D>(9);
  const std::size_t n = points.count();
  const auto map = [&](const TransformChain<D>& chain, const Points<D>& at) {
    Points<D> out(n);
    mapChain<D>(context, chain, at.list(), out.out());
    return out;
  };
  for (const auto& joint : joints)
    for (const auto& otherJoint : joints) {
      const auto first = nestedChain<D>(joint[0], joint[1]),
                 second = nestedChain<D>(otherJoint[0], otherJoint[1]);
      const auto joined = joinedChain<D>(first, second, Registry());
      const Points<D> found = map(*joined, points), expected = map(*second, map(*first, points));
      std::vector<double> jacobian(D * D * n);
      chainSpatialDerivatives<D>(context, *joined, points.list(), jacobian.data(), nullptr);
      for (int k = 0; k < D; ++k)
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_EQ(found.mm[k][i], expected.mm[k][i]);
      for (int a = 0; a < D; ++a) {
        Points<D> above = points, below = points;
        for (std::size_t i = 0; i < n; ++i) {
          above.mm[a][i] += step;
          below.mm[a][i] -= step;
        }
        const Points<D> high = map(*joined, above), low = map(*joined, below);
        for (int k = 0; k < D; ++k)
          for (std::size_t i = 0; i < n; ++i) {
            const double slope = (high.mm[k][i] - low.mm[k][i]) / (2 * step);
            ASSERT_NEAR(jacobian[(k * D + a) * n + i], slope, 1e-7 * (1 + std::abs(slope)));
          }
      }
    }
}

TYPED_TEST(TransformChainTest, MapsByTheDefinitionOfComposeAndAdd)
{
  constexpr int D = TestFixture::D;
  Context context;
  const Points<D> points = unitPoints<D>(33);
  for (const auto& joint : joints) {
    const auto chain = nestedChain<D>(joint[0], joint[1]);
    Points<D> expected = points;
    for (const auto* link : {chain->initial->initial.get(), chain->initial.get(),
                             static_cast<const TransformChain<D>*>(chain.get())}) {
      const bool adds = link->initial && link->combination == Combination::add;
      const Points<D> own = mapped<D>(*link->transform, link->parameters, adds ? points : expected);
      for (int d = 0; d < D; ++d)
        for (std::size_t i = 0; i < points.count(); ++i)
          expected.mm[d][i] = adds ? expected.mm[d][i] + own.mm[d][i] - points.mm[d][i] : own.mm[d][i];
    }
    Points<D> found(points.count()), inPlace = points;

    mapChain<D>(context, *chain, points.list(), found.out());
    mapChain<D>(context, *chain, inPlace.list(), inPlace.out());

    EXPECT_LE(largestDifference(found, expected), 1e-14); // values near 1, another order of two additions
    EXPECT_EQ(found.mm, inPlace.mm);
  }
}

TYPED_TEST(TransformChainTest, InitialPointsAreThoseTheLastTransformIsAskedAt)
{
  constexpr int D = TestFixture::D;
  Context context;
  const Points<D> points = unitPoints<D>(7);
  const auto composed = nestedChain<D>(Combination::add, Combination::compose),
             added = nestedChain<D>(Combination::add, Combination::add);
  Points<D> before(7), expected(7), untouched(7);

  mapInitial<D>(context, *composed, points.list(), before.out());
  mapInitial<D>(context, *added, points.list(), untouched.out());

  mapChain<D>(context, *composed->initial, points.list(), expected.out());
  EXPECT_EQ(before.mm, expected.mm);
  EXPECT_EQ(untouched.mm, points.mm);
}

TYPED_TEST(TransformChainTest, SpatialDerivativesMatchFiniteDifferences)
{
  constexpr int D = TestFixture::D;
  Context context;
  const Points<D> points = unitPoints<D>(11);
  for (const auto& joint : joints) {
    const auto chain = nestedChain<D>(joint[0], joint[1]);
    // Polynomials of degree 8 with derivatives up to some 100: step^2 * 100 truncation, 1e-15 / step
    // rounding.
    expectSpatialMatchesFiniteDifferences<D>(
        [&](const ListSamples<D>& list, const PointsOut<D>& out) { mapChain<D>(context, *chain, list, out); },
        [&](const ListSamples<D>& list, double* jacobian, double* hessian) {
          chainSpatialDerivatives<D>(context, *chain, list, jacobian, hessian);
        },
        points, 1e-5, 1e-7, 1e-6);
  }
}

TYPED_TEST(TransformChainTest, PullBackOfSpatialDerivativesMatchesFiniteDifferences)
{
  constexpr int D = TestFixture::D;
  Context context;
  const Points<D> points = unitPoints<D>(11);
  for (const auto& joint : joints) {
    const auto chain = nestedChain<D>(joint[0], joint[1]);
    // Linear in the last parameters: only rounding, 1e-15 times sums of some 100, over the step.
    expectSpatialPullBackMatchesFiniteDifferences<D>(
        [&](const std::vector<double>& at, const ListSamples<D>& list, double* jacobian, double* hessian) {
          TransformChain<D> moved = *chain;
          moved.parameters = at;
          chainSpatialDerivatives<D>(context, moved, list, jacobian, hessian);
        },
        [&](const ListSamples<D>& list, const double* covJacobian, const double* covHessian,
            std::span<double> gradient) {
          pullBackChainSpatialDerivatives<D>(context, *chain, list, covJacobian, covHessian, gradient);
        },
        chain->parameters, points, 1e-2, 1e-9);
  }
}

TYPED_TEST(TransformChainTest, HasAHessianIfAnyLinkHasOne)
{
  constexpr int D = TestFixture::D;
  EXPECT_TRUE(chainHasHessian<D>(*nestedChain<D>(Combination::compose, Combination::add)));
}
