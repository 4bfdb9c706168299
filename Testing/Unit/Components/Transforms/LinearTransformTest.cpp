#include "Components/Transforms/AffineLogTransform.h"
#include "Components/Transforms/AffineTransform.h"
#include "Components/Transforms/EulerTransform.h"
#include "Components/Transforms/SimilarityTransform.h"
#include "Components/Transforms/TranslationTransform.h"
#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"

#include <numbers>

using namespace tessera;
using namespace tessera::testing;
using namespace tessera::checks;

namespace {

constexpr double quarterTurn = std::numbers::pi / 2;

template <int D>
Parameters text(const std::string& lines)
{
  return parametersOf(lines, D, 1, "Transform0");
}

/// A transform restored from a file with this centre.
template <class T, int D>
std::unique_ptr<T> centred(const Vec<D>& center, std::vector<double> parameters, const std::string& more = "")
{
  std::string file = "(CenterOfRotationPoint";
  for (double c : center)
    file += " " + std::to_string(c);
  file += ")\n" + more + "\n(TransformParameters";
  for (double p : parameters)
    file += " " + std::to_string(p);
  auto transform = std::make_unique<T>(text<D>(more));
  transform->restore({}, text<D>(file + ")"));
  return transform;
}

template <int D>
Vec<D> mapOne(const Transform<D>& transform, const std::vector<double>& parameters, const Vec<D>& point)
{
  Points<D> points(1);
  for (int d = 0; d < D; ++d)
    points.mm[d][0] = point[d];
  const Points<D> result = mapped<D>(transform, parameters, points);
  Vec<D> out;
  for (int d = 0; d < D; ++d)
    out[d] = result.mm[d][0];
  return out;
}

template <int D>
void expectNear(const Vec<D>& found, const Vec<D>& expected)
{
  for (int d = 0; d < D; ++d)
    EXPECT_NEAR(found[d], expected[d], 1e-13) << "axis " << d; // a few roundings of numbers near 10
}

/// A class, and parameters far from its identity.
template <template <int> class T, int D>
struct Case {
  using Type = T<D>;
  static constexpr int dimension = D;
};

template <int D>
std::vector<double> someParameters(const Transform<D>& transform)
{
  const std::string name = transform.name();
  std::vector<double> p = randomVector(transform.parameterCount(), 21, -0.4, 0.4);
  if (name == "SimilarityTransform")
    p[D == 2 ? 0 : 6] = 1.3;
  for (int d = 0; d < D && name != "SimilarityTransform"; ++d)
    p[p.size() - D + d] = 5 - 3 * d;
  return p;
}

}

template <class C>
class LinearTransformTest : public ::testing::Test {
public:
  static constexpr int D = C::dimension;
  static Vec<D> center()
  {
    Vec<D> c;
    for (int d = 0; d < D; ++d)
      c[d] = 20 - 15 * d;
    return c;
  }
  std::unique_ptr<typename C::Type> transform = [] {
    typename C::Type blank(text<D>(""));
    return centred<typename C::Type, D>(center(), std::vector<double>(blank.parameterCount(), 0.0));
  }();
  std::vector<double> parameters = someParameters<D>(*transform);
  std::vector<double> scales = randomVector(transform->parameterCount(), 4, 0.5, 900);

  static Points<D> points(std::size_t count) { return randomPoints<D>(count, 2, -100, 80); }
};
using Cases =
    ::testing::Types<Case<TranslationTransform, 2>, Case<TranslationTransform, 3>, Case<EulerTransform, 2>,
                     Case<EulerTransform, 3>, Case<SimilarityTransform, 2>, Case<SimilarityTransform, 3>,
                     Case<AffineTransform, 2>, Case<AffineTransform, 3>, Case<AffineLogTransform, 2>,
                     Case<AffineLogTransform, 3>>;
TYPED_TEST_SUITE(LinearTransformTest, Cases);

TYPED_TEST(LinearTransformTest, PullBackIsTheAdjointOfPushForward)
{
  constexpr int D = TestFixture::D;
  for (std::size_t count : {1, 3, 4, 5, 511, 512})
    expectPullBackIsAdjointOfPushForward<D>(*this->transform, this->parameters, this->points(count));
}

TYPED_TEST(LinearTransformTest, PushForwardMatchesFiniteDifferences)
{
  constexpr int D = TestFixture::D;
  // Third derivatives up to 1e4 mm (quaternions) at a step of 1e-5: 1e-6 / 6; rounding 1e-14 / 1e-5.
  expectPushForwardMatchesFiniteDifferences<D>(*this->transform, this->parameters, this->points(17), 1e-5,
                                               2e-7);
}

TYPED_TEST(LinearTransformTest, SpatialDerivativesMatchFiniteDifferences)
{
  constexpr int D = TestFixture::D;
  // Linear in x: rounding alone, 1e-13 over a step of 0.1 mm.
  expectSpatialDerivativesMatchFiniteDifferences<D>(*this->transform, this->parameters, this->points(9), 0.1,
                                                    1e-11, 1e-12);
}

TYPED_TEST(LinearTransformTest, PullBackOfSpatialDerivativesMatchesFiniteDifferences)
{
  constexpr int D = TestFixture::D;
  // Third derivatives up to 9 * D^2 entries: 1e-10 * 100 truncation, 1e-15 * 100 / 1e-5 rounding.
  expectPullBackOfSpatialDerivativesMatchesFiniteDifferences<D>(*this->transform, this->parameters,
                                                                this->points(9), 1e-5, 2e-8);
}

TYPED_TEST(LinearTransformTest, JacobianTermsMatchTheNaiveSums)
{
  constexpr int D = TestFixture::D;
  for (std::size_t count : {1, 257, 1500})
    expectJacobianTermsMatchNaive<D>(*this->transform, this->parameters, this->scales, this->points(count));
}

TYPED_TEST(LinearTransformTest, RestoresWhatItWrites)
{
  constexpr int D = TestFixture::D;
  const Vec<D> before = mapOne<D>(*this->transform, this->parameters, this->center());
  typename TypeParam::Type restored(text<D>(""));

  const std::vector<double> parameters =
      restored.restore({}, text<D>(fileText<D>(*this->transform, this->parameters)));

  EXPECT_EQ(parameters, this->parameters);
  EXPECT_EQ(mapOne<D>(restored, parameters, this->center()), before);
}

TYPED_TEST(LinearTransformTest, WithoutItsOwnHessianStillFollowsThatOfTheChain)
{
  constexpr int D = TestFixture::D;
  Context context;
  const auto affine = std::make_shared<AffineTransform<D>>(text<D>(""));
  const std::vector<double> shear = randomVector(affine->parameterCount(), 8);
  const auto first =
      std::make_shared<TransformChain<D>>(TransformChain<D>{nullptr, Combination::compose, affine, shear});
  const TransformChain<D> chain{first, Combination::compose, std::move(this->transform), this->parameters};
  const Points<D> points = this->points(5);

  EXPECT_FALSE(chainHasHessian<D>(chain));
  // Products of two matrices with entries near 1, coordinates of 100 mm: rounding 1e-14 * 100 over a step of
  // 0.1 mm.
  expectSpatialMatchesFiniteDifferences<D>(
      [&](const ListSamples<D>& list, const PointsOut<D>& out) { mapChain<D>(context, chain, list, out); },
      [&](const ListSamples<D>& list, double* jacobian, double* hessian) {
        chainSpatialDerivatives<D>(context, chain, list, jacobian, hessian);
      },
      points, 0.1, 1e-11, 1e-12);
  expectSpatialPullBackMatchesFiniteDifferences<D>(
      [&](const std::vector<double>& at, const ListSamples<D>& list, double* jacobian, double* hessian) {
        TransformChain<D> moved = chain;
        moved.parameters = at;
        chainSpatialDerivatives<D>(context, moved, list, jacobian, hessian);
      },
      [&](const ListSamples<D>& list, const double* covJacobian, const double* covHessian,
          std::span<double> gradient) {
        pullBackChainSpatialDerivatives<D>(context, chain, list, covJacobian, covHessian, gradient);
      },
      this->parameters, points, 1e-5, 2e-7); // as above, times the shear
}

TEST(TranslationTransform, Translates)
{
  expectNear<2>(mapOne<2>(TranslationTransform<2>(text<2>("")), {3, -4}, {1, 2}), {4, -2});
}

TEST(EulerTransform, TurnsAPlaneFromXToY)
{
  const auto transform = centred<EulerTransform<2>, 2>({1, 2}, {0, 0, 0});
  expectNear<2>(mapOne<2>(*transform, {quarterTurn, 10, 20}, {2, 2}), {11, 23});
}

TEST(EulerTransform, TurnsAboutYThenXThenZ)
{
  const auto transform = centred<EulerTransform<3>, 3>({0, 0, 0}, {0, 0, 0, 0, 0, 0});
  // z -> x by y, x stays under x, x -> y by z
  expectNear<3>(mapOne<3>(*transform, {quarterTurn, quarterTurn, quarterTurn, 0, 0, 0}, {0, 0, 1}),
                {0, 1, 0});
}

TEST(EulerTransform, WithComputeZyxTurnsAboutXThenYThenZ)
{
  const auto transform =
      centred<EulerTransform<3>, 3>({0, 0, 0}, {0, 0, 0, 0, 0, 0}, "(ComputeZYX \"true\")");
  // z -> -y by x, -y stays under y, -y -> x by z
  expectNear<3>(mapOne<3>(*transform, {quarterTurn, quarterTurn, quarterTurn, 0, 0, 0}, {0, 0, 1}),
                {1, 0, 0});
}

TEST(SimilarityTransform, TakesScaleFirstInAPlaneAndLastInSpace)
{
  const auto plane = centred<SimilarityTransform<2>, 2>({1, 2}, {1, 0, 0, 0});
  expectNear<2>(mapOne<2>(*plane, {3, quarterTurn, 10, 20}, {2, 2}), {11, 25});
  const auto space = centred<SimilarityTransform<3>, 3>({1, 2, 3}, {0, 0, 0, 0, 0, 0, 1});
  const double half = std::sin(quarterTurn / 2); // a quarter turn about z
  expectNear<3>(mapOne<3>(*space, {0, 0, half, 10, 20, 30, 3}, {2, 2, 3}), {11, 25, 33});
}

TEST(AffineTransform, TakesTheMatrixRowByRow)
{
  const auto transform = centred<AffineTransform<2>, 2>({1, 2}, {1, 0, 0, 1, 0, 0});
  expectNear<2>(mapOne<2>(*transform, {1, 2, 3, 4, 10, 20}, {2, 3}), {1 + 10 + 3, 2 + 20 + 7});
}

TEST(AffineLogTransform, TurnsByASkewLogarithmAndStretchesByADiagonalOne)
{
  const auto plane = centred<AffineLogTransform<2>, 2>({1, 2}, {0, 0, 0, 0, 0, 0});
  expectNear<2>(mapOne<2>(*plane, {0, -quarterTurn, quarterTurn, 0, 10, 20}, {2, 2}), {11, 23});
  expectNear<2>(mapOne<2>(*plane, {std::log(2), 0, 0, std::log(3), 10, 20}, {2, 3}), {13, 25});
  const auto space = centred<AffineLogTransform<3>, 3>({0, 0, 0}, std::vector<double>(12, 0.0));
  // Nilpotent: exp(L) = 1 + L + L^2 / 2
  expectNear<3>(mapOne<3>(*space, {0, 2, 4, 0, 0, 6, 0, 0, 0, 0, 0, 0}, {0, 0, 1}), {4 + 6, 6, 1});
  const Vec<3> far = mapOne<3>(*space, {12, 0, 0, 0, -12, 0, 0, 0, 0, 0, 0, 0}, {1, 1, 1});
  EXPECT_NEAR(far[0] / std::exp(12), 1, 1e-12); // 7 squarings of a rounding
  EXPECT_NEAR(far[1] / std::exp(-12), 1, 1e-12);
}

TEST(AffineLogTransform, LogarithmsOutOfAllBoundsEnd)
{
  const auto plane = centred<AffineLogTransform<2>, 2>({0, 0}, {0, 0, 0, 0, 0, 0});
  for (const double entry : {1e4, 1e300, std::numeric_limits<double>::infinity()})
    EXPECT_FALSE(std::isfinite(mapOne<2>(*plane, {entry, 0, 0, 0, 0, 0}, {1, 1})[0])) << entry;
}

TEST(AffineLogTransform, IsAnAffineTransformOfItk)
{
  const auto plane = centred<AffineLogTransform<2>, 2>({1, 2}, {0, 0, 0, 0, 0, 0});
  const std::vector<double> parameters{0.1, -0.2, 0.3, 0.05, 4, 5};
  const ItkTransform itk = plane->itkTransform(parameters);
  EXPECT_EQ(itk.className, "AffineTransform_double_2_2");
  const auto affine = centred<AffineTransform<2>, 2>({1, 2}, {1, 0, 0, 1, 0, 0});
  expectNear<2>(mapOne<2>(*affine, itk.parameters, {7, -5}), mapOne<2>(*plane, parameters, {7, -5}));
}

TEST(LinearTransform, EstimatedScalesAreThoseOfElastix)
{
  // elastix 5.0.1 on 256 x 256 voxels of 1 mm prints 11092.5 1 1: a grid of 86 x 86, 2 * 9 * (86^2 - 1) / 12.
  auto image = std::make_shared<Image<2>>();
  image->geometry = {{256, 256}, {1, 1}, {0, 0}};
  image->voxels.resize(65536);
  const PointList<2> samples = allSamples<2>(gridOfAbout<2>(10000, image, nullptr));
  ListSamples<2> list{{samples.mm[0].data(), samples.mm[1].data()}, samples.fixed.size()};
  Context context;
  EulerTransform<2> transform(text<2>("(AutomaticScalesEstimation \"true\")"));
  const std::vector<double> parameters =
      transform.initialize(context, {image, image, nullptr, nullptr, nullptr});

  const std::vector<double> scales = transform.scales(context, list, parameters);

  ASSERT_EQ(scales.size(), 3u);
  EXPECT_NEAR(scales[0], 11092.5, 1e-9); // 7396 sums of numbers near 1e4, relative 1e-16 each
  EXPECT_NEAR(scales[1], 1, 1e-12);
  EXPECT_NEAR(scales[2], 1, 1e-12);
}

TEST(LinearTransform, ScaleOfAParameterThatMovesNothingIsOne)
{
  const Points<3> slice = [] {
    Points<3> points = randomPoints<3>(100, 3, {-50, -50, 0}, {50, 50, 0});
    std::fill(points.mm[2].begin(), points.mm[2].end(), 7.3);
    return points;
  }();
  const auto transform = centred<AffineTransform<3>, 3>({0, 0, 7.3}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0},
                                                        "(AutomaticScalesEstimation \"true\")");
  Context context;

  const std::vector<double> scales =
      transform->scales(context, slice.list(), std::vector<double>{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0});

  EXPECT_EQ(scales[2], 1);
  EXPECT_GT(scales[0], 100);
}

TEST(LinearTransform, ScalesFollowTheRulesOfElastix)
{
  Context context;
  const Points<3> points(1);
  const auto scalesOf = [&](const Transform<3>& transform) {
    return optimizable(transform).scales(context, points.list(),
                                         std::vector<double>(transform.parameterCount(), 0.0));
  };
  using V = std::vector<double>;
  EXPECT_EQ(scalesOf(EulerTransform<3>(text<3>(""))), (V{1e5, 1e5, 1e5, 1, 1, 1}));
  EXPECT_EQ(scalesOf(EulerTransform<3>(text<3>("(Scales 300)"))), (V{300, 300, 300, 1, 1, 1}));
  EXPECT_EQ(scalesOf(EulerTransform<3>(text<3>("(Scales 1 2 3 4 5 6)"))), (V{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(scalesOf(SimilarityTransform<3>(text<3>(""))), (V{1e5, 1e5, 1e5, 1, 1, 1, 1e4}));
  EXPECT_EQ(scalesOf(SimilarityTransform<3>(text<3>("(Scales 300)"))), (V{300, 1e5, 1e5, 1, 1, 1, 1e4}));
  EXPECT_EQ(scalesOf(AffineTransform<3>(text<3>("(Scales 300)"))),
            (V{300, 300, 300, 300, 300, 300, 300, 300, 300, 1, 1, 1}));
  EXPECT_EQ(scalesOf(TranslationTransform<3>(text<3>("(Scales 300)"))), (V{1, 1, 1}));
  for (const char* lines : {"(Scales 1 2 3 4 5 6 7 8 9 10 11 12)",
                            "(Scales 1 2 3 4 5 6 7 8 9 10 11 12)\n(AutomaticScalesEstimation \"true\")"})
    EXPECT_EQ(scalesOf(AffineLogTransform<3>(text<3>(lines))), (V{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(scalesOf(AffineLogTransform<3>(text<3>(""))),
            scalesOf(AffineLogTransform<3>(text<3>("(AutomaticScalesEstimation \"false\")"))));
  const V identity{1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0};
  const Points<3> many = randomPoints<3>(100, 3, {-50, -50, -50}, {50, 50, 50});
  EXPECT_EQ(AffineLogTransform<3>(text<3>("")).scales(context, many.list(), V(12, 0.0)),
            AffineTransform<3>(text<3>("(AutomaticScalesEstimation \"true\")"))
                .scales(context, many.list(),
                        identity)); // at the identity the derivatives are those of affine maps
}

TEST(LinearTransform, ScalesThatDoNotFitAreErrors)
{
  Context context;
  const Points<3> points(1);
  for (const char* lines : {"(Scales 1 2)", "(Scales 0)", "(Scales -3)"}) {
    const EulerTransform<3> transform(text<3>(lines));
    EXPECT_THROW(transform.scales(context, points.list(), std::vector<double>(6, 0.0)), Error) << lines;
  }
}
