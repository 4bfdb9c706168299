#include "Components/Transforms/SplineKernelTransform.h"

#include "Testing/Support/Checks/TransformChecks.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"

#include <thread>

namespace tessera {
namespace {

using namespace checks;
using testing::errorText;

Parameters parametersOf(const std::string& text, int dimension)
{
  return testing::parametersOf(text, dimension, 1, "Transform0");
}

std::string joined(const std::vector<double>& values)
{
  std::string text;
  for (const double value : values)
    text += " " + std::to_string(value);
  return text;
}

template <int D>
struct Example {
  SplineKernelTransform<D> transform{parametersOf("(A 1)", D)};
  std::vector<double> fixed, moving; // landmarks, point by point
  std::vector<double> parameters;

  Example(const std::string& type, double relaxation, std::size_t count = 9)
  {
    fixed = randomVector(D * count, 31, -40, 60);
    moving = moved(fixed, 4, randomVector(D * count, 32));
    for (auto* list : {&fixed, &moving})
      for (double& value : *list)
        value = std::stod(std::to_string(value)); // as the text has it
    parameters = transform.restore(
        {},
        parametersOf("(SplineKernelType \"" + type + "\")\n(SplineRelaxationFactor "
                         + std::to_string(relaxation) + ")\n(SplinePoissonRatio 0.22)\n(FixedImageLandmarks"
                         + joined(fixed) + ")\n(TransformParameters" + joined(moving) + ")",
                     D));
  }
  Points<D> landmarks() const
  {
    Points<D> points(fixed.size() / D);
    for (std::size_t i = 0; i < fixed.size(); ++i)
      points.mm[i % D][i / D] = fixed[i];
    return points;
  }
};

const std::vector<std::string> types{"ThinPlateSpline", "ThinPlateR2LogRSpline", "VolumeSpline",
                                     "ElasticBodySpline", "ElasticBodyReciprocalSpline"};

template <int D>
void expectLandmarksMatch(const std::string& type)
{
  const Example<D> example(type, 0);
  const Points<D> result = mapped<D>(example.transform, example.parameters, example.landmarks());
  for (std::size_t i = 0; i < example.fixed.size(); ++i)
    EXPECT_NEAR(result.mm[i % D][i / D], example.moving[i], 1e-9)
        << type; // 1e-16 times the condition of a small system
}

TEST(SplineKernelTransform, WithoutRelaxationLandmarksMatch)
{
  for (const std::string& type : types) {
    expectLandmarksMatch<2>(type);
    expectLandmarksMatch<3>(type);
  }
}

TEST(SplineKernelTransform, AffineLandmarksGiveTheAffineMapEverywhere)
{
  Example<3> example("ElasticBodySpline", 0.3);
  std::vector<double> moving(example.fixed.size());
  for (std::size_t i = 0; i < moving.size(); ++i)
    moving[i] = 1.5 * example.fixed[i] - 0.25 * example.fixed[i / 3 * 3] + 2;
  const std::vector<double> parameters =
      example.transform.restore({}, parametersOf("(FixedImageLandmarks" + joined(example.fixed)
                                                     + ")\n(TransformParameters" + joined(moving) + ")",
                                                 3));
  const Points<3> points = randomPoints<3>(100, 2, {-100, -100, -100}, {100, 100, 100});

  const Points<3> result = mapped<3>(example.transform, parameters, points);

  for (std::size_t i = 0; i < 100; ++i)
    for (int d = 0; d < 3; ++d)
      EXPECT_NEAR(result.mm[d][i], 1.5 * points.mm[d][i] - 0.25 * points.mm[0][i] + 2,
                  1e-4); // landmarks have six decimals
}

TEST(SplineKernelTransform, ByHandIsTheSumOfKernels)
{
  // Landmarks on the corners of a square, one diagonal lifted, the other lowered by h: no affine part,
  // weights +w and -w with h = w (G(diagonal) - 2 G(side)), G = r^2 log r in 2D.
  const double side = 10, h = 2;
  SplineKernelTransform<2> transform(parametersOf("(A 1)", 2));
  const std::vector<double> parameters = transform.restore(
      {}, parametersOf("(FixedImageLandmarks 0 0 10 0 0 10 10 10)\n(TransformParameters 0 2 10 -2 0 8 10 12)",
                       2));
  const auto kernel = [](double r) { return r > 0 ? r * r * std::log(r) : 0; };
  const double weight = h / (kernel(side * std::sqrt(2.0)) - 2 * kernel(side));
  Points<2> points(1);
  points.mm = {{{4}, {3}}};

  const Points<2> result = mapped<2>(transform, parameters, points);

  const auto at = [&](double x, double y) { return kernel(std::hypot(4 - x, 3 - y)); };
  EXPECT_NEAR(result.mm[0][0], 4, 1e-12);
  EXPECT_NEAR(result.mm[1][0], 3 + weight * (at(0, 0) + at(10, 10) - at(10, 0) - at(0, 10)), 1e-12);
}

TEST(SplineKernelTransform, RelaxationIsAddedToTheDiagonal)
{
  // (K + lambda) w + P a = d: what is missed at a landmark is lambda w; twice a small lambda misses twice as
  // much
  const Example<3> little("ThinPlateSpline", 1e-3), twice("ThinPlateSpline", 2e-3);
  const Points<3> one = mapped<3>(little.transform, little.parameters, little.landmarks());
  const Points<3> two = mapped<3>(twice.transform, twice.parameters, twice.landmarks());
  double largest = 0, difference = 0;
  for (std::size_t i = 0; i < little.fixed.size(); ++i) {
    const double missed = one.mm[i % 3][i / 3] - little.moving[i];
    largest = std::max(largest, std::abs(missed));
    difference = std::max(difference, std::abs(two.mm[i % 3][i / 3] - twice.moving[i] - 2 * missed));
  }
  EXPECT_GT(largest, 1e-5);              // some 0.1 for a weight
  EXPECT_LT(difference, 1e-3 * largest); // lambda over the smallest of K's eigenvalues, about 10
}

template <int D>
void expectDerivatives(const std::string& type)
{
  const Example<D> example(type, 0.1);
  const Points<D> points = randomPoints<D>(30, 8, -60, 80);
  // step 1e-3 mm: truncation 1e-6 times third and fourth derivatives of weights below 1; rounding 1e-13 /
  // 1e-3
  expectSpatialDerivativesMatchFiniteDifferences<D>(example.transform, example.parameters, points, 1e-3, 1e-7,
                                                    1e-6);
}

TEST(SplineKernelTransform, SpatialDerivativesMatchFiniteDifferences)
{
  for (const std::string& type : types) {
    expectDerivatives<2>(type);
    expectDerivatives<3>(type);
  }
}

TEST(SplineKernelTransform, BlocksOfSamplesAreTheirSamplesOneByOne)
{
  const Example<3> example("ElasticBodySpline", 0);
  const Points<3> points = randomPoints<3>(131, 3, {-40, -40, -40}, {60, 60, 60});
  const Points<3> together = mapped<3>(example.transform, example.parameters, points);
  for (std::size_t i = 0; i < points.count(); ++i) {
    Points<3> single(1);
    for (int d = 0; d < 3; ++d)
      single.mm[d][0] = points.mm[d][i];
    const Points<3> result = mapped<3>(example.transform, example.parameters, single);
    for (int d = 0; d < 3; ++d)
      EXPECT_EQ(result.mm[d][0], together.mm[d][i]);
  }
}

/// Three oblique rows one behind the other, of which one goes through a landmark, and some points between.
template <int D>
Points<D> rowsOfPoints(const Example<D>& example)
{
  Points<D> points = randomPoints<D>(30, 3, Vec<D>{}, Vec<D>{}); // all at one place
  for (const std::size_t length : {64u, 25u, 10u, 51u})
    for (std::size_t i = 0; i < length; ++i)
      for (int d = 0; d < D; ++d)
        points.mm[d].push_back(example.fixed[d] + (d + 1) * 0.5 * (static_cast<double>(i) - 10)
                               + 0.25 * length - 16);
  for (int d = 0; d < D; ++d)
    points.mm[d].insert(points.mm[d].end(), {3, -7, 20});
  return points;
}

template <int D>
void expectRowsAreTheirPoints(const std::string& type)
{
  const Example<D> example(type, 0);
  const Points<D> points = rowsOfPoints<D>(example);
  const std::size_t n = points.count();
  Context context;
  std::vector<double> jacobian(D * D * n), hessian(D * symmetricCount(D) * n), exact = jacobian;
  const Points<D> rows = mapped<D>(example.transform, example.parameters, points);
  example.transform.spatialDerivatives(context, points.list(), example.parameters, jacobian.data(), nullptr);
  example.transform.spatialDerivatives(context, points.list(), example.parameters, exact.data(),
                                       hessian.data());
  // weights are about 1 in the unit of each kernel, and 12 nodes leave 1e-7 of a half length of up to 60 mm;
  // larger where the kernel grows with the cube of the distance
  for (std::size_t i = 0; i < n; ++i) {
    Points<D> single(1);
    for (int d = 0; d < D; ++d)
      single.mm[d][0] = points.mm[d][i];
    const Points<D> alone = mapped<D>(example.transform, example.parameters, single);
    for (int d = 0; d < D; ++d)
      EXPECT_NEAR(rows.mm[d][i], alone.mm[d][0], 1e-6) << type << " at " << i;
    for (int e = 0; e < D * D; ++e)
      EXPECT_NEAR(jacobian[e * n + i], exact[e * n + i], 1e-7) << type << " at " << i;
  }
}

TEST(SplineKernelTransform, RowsOfPointsAreTheirPointsOneByOne)
{
  for (const std::string& type : types) {
    expectRowsAreTheirPoints<2>(type);
    expectRowsAreTheirPoints<3>(type);
  }
}

TEST(SplineKernelTransform, FilesThatMakeNoSplineAreErrors)
{
  SplineKernelTransform<2> transform(parametersOf("(A 1)", 2));
  const auto restoring = [&](const std::string& text) {
    return errorText([&] { transform.restore({}, parametersOf(text, 2)); });
  };
  EXPECT_PRED2(testing::contains,
               restoring("(FixedImageLandmarks 0 0 1 1 2 2 3 3)\n(TransformParameters 0 0 1 1 2 2 3 3)"),
               "not all on one line");
  EXPECT_PRED2(testing::contains,
               restoring("(FixedImageLandmarks 0 0 1 1 0 0 3 4)\n(TransformParameters 0 0 1 1 2 2 3 3)"),
               "different points");
  EXPECT_PRED2(testing::contains, restoring("(FixedImageLandmarks 0 0 1)\n(TransformParameters 0 0 1)"),
               "3 values");
  EXPECT_PRED2(testing::contains,
               restoring("(FixedImageLandmarks 0 0 1 0 0 1)\n(TransformParameters 0 0 1 0)"), "makes 6");
  EXPECT_PRED2(testing::contains, restoring("(SplineKernelType \"Rubber\")"), "Rubber");
  EXPECT_PRED2(testing::contains, restoring("(SplinePoissonRatio 0.5)\n(FixedImageLandmarks 0 0 1 0 0 1)"),
               "below 0.5");
}

template <int D>
PointPairs<D> pairsOf(const Example<D>& example)
{
  PointPairs<D> pairs;
  for (std::size_t i = 0; i < example.fixed.size(); i += D) {
    pairs.fixedMm.emplace_back();
    pairs.movingMm.emplace_back();
    std::copy_n(example.fixed.begin() + static_cast<std::ptrdiff_t>(i), D, pairs.fixedMm.back().begin());
    std::copy_n(example.moving.begin() + static_cast<std::ptrdiff_t>(i), D, pairs.movingMm.back().begin());
  }
  return pairs;
}

template <int D>
TransformStart<D> startOf(const PointPairs<D>* pairs, const TransformChain<D>* initial = nullptr)
{
  return {nullptr, nullptr, nullptr, nullptr, initial, pairs};
}

template <int D>
void expectAllThatServesOptimization(const std::string& type)
{
  const Example<D> example(type, 0.1);
  const Points<D> points = randomPoints<D>(150, 8, -60, 80); // not a multiple of a block
  const std::vector<double> elsewhere =
      moved(example.parameters, 2, randomVector(example.parameters.size(), 4));
  expectPullBackIsAdjointOfPushForward<D>(example.transform, elsewhere, points);
  // linear in the parameters: only roundings of some 100 mm, over the step, times the condition of a small
  // system
  expectPushForwardMatchesFiniteDifferences<D>(example.transform, elsewhere, points, 1, 1e-10);
  const Points<D> few = randomPoints<D>(20, 9, -60, 80);
  expectPullBackOfSpatialDerivativesMatchesFiniteDifferences<D>(example.transform, elsewhere, few, 1, 1e-9);
  const std::vector<double> scales = randomVector(example.parameters.size(), 5, 0.5, 2);
  expectJacobianTermsMatchNaive<D>(example.transform, elsewhere, scales, randomPoints<D>(300, 7, -60, 80),
                                   1e-10);
}

TEST(SplineKernelTransform, DerivativesByLandmarksMatchFiniteDifferencesAndNaiveSums)
{
  expectAllThatServesOptimization<2>("ThinPlateSpline");
  for (const std::string& type : types)
    expectAllThatServesOptimization<3>(type);
}

TEST(SplineKernelTransform, ParametersAreWhereTheLandmarksGo)
{
  for (const std::string& type : types) {
    Example<3> example(type, 0);
    const std::vector<double> elsewhere = moved(example.moving, 3, randomVector(example.moving.size(), 91));

    const Points<3> result = mapped<3>(example.transform, elsewhere, example.landmarks());

    for (std::size_t i = 0; i < elsewhere.size(); ++i)
      EXPECT_NEAR(result.mm[i % 3][i / 3], elsewhere[i], 1e-9)
          << type; // 1e-16 times the condition of a small system
  }
}

TEST(SplineKernelTransform, StartsWithTheLandmarksThatAreGiven)
{
  const Example<3> example("ThinPlateSpline", 0);
  PointPairs<3> pairs = pairsOf<3>(example);
  SplineKernelTransform<3> transform(parametersOf("(A 1)", 3));
  Context context;
  const Points<3> points = randomPoints<3>(50, 2, {-60, -60, -60}, {80, 80, 80});

  const std::vector<double> withMoving = transform.initialize(context, startOf<3>(&pairs));

  EXPECT_EQ(withMoving, example.moving);
  const Points<3> asTheFile = mapped<3>(example.transform, example.parameters, points);
  const Points<3> asThePairs = mapped<3>(transform, withMoving, points);
  EXPECT_LE(largestDifference(asThePairs, asTheFile), 1e-10); // the same system for other right sides

  pairs.movingMm.clear();
  const std::vector<double> withoutMoving = transform.initialize(context, startOf<3>(&pairs));
  EXPECT_EQ(withoutMoving, example.fixed);
  EXPECT_EQ(mapped<3>(transform, withoutMoving, points).mm, points.mm) << "the identity, to the last bit";
}

TEST(SplineKernelTransform, WhatItIsComposedWithTakesTheFixedLandmarksAlong)
{
  const Example<2> example("ThinPlateSpline", 0);
  const PointPairs<2> pairs = pairsOf<2>(example);
  TransformChain<2> initial;
  auto field = std::make_shared<SplineKernelTransform<2>>(parametersOf("(A 1)", 2));
  Context context;
  PointPairs<2> shifted{pairs.fixedMm, pairs.fixedMm};
  for (Vec<2>& pointMm : shifted.movingMm)
    pointMm[0] += 5;
  initial.parameters = field->initialize(context, startOf<2>(&shifted));
  initial.transform = field;
  const auto startsAt = [&](const std::string& text) {
    SplineKernelTransform<2> transform(parametersOf(text, 2));
    PointPairs<2> fixedOnly{pairs.fixedMm, {}};
    return transform.initialize(context, startOf<2>(&fixedOnly, &initial));
  };

  const std::vector<double> composed = startsAt("(HowToCombineTransforms \"Compose\")");
  const std::vector<double> added = startsAt("(HowToCombineTransforms \"Add\")");

  EXPECT_EQ(added, example.fixed);
  for (std::size_t i = 0; i < composed.size(); ++i)
    EXPECT_NEAR(composed[i], example.fixed[i] + (i % 2 == 0 ? 5 : 0),
                1e-11); // roundings of 60 mm times a small condition
}

TEST(SplineKernelTransform, NeedsLandmarksThatDetermineIt)
{
  SplineKernelTransform<2> transform(parametersOf("(Transform \"SplineKernelTransform\")", 2));
  Context context;
  const PointPairs<2> onALine{{{0, 0}, {1, 1}, {2, 2}, {3, 3}}, {}};
  EXPECT_PRED2(testing::contains, errorText([&] { transform.initialize(context, {}); }), "none are given");
  EXPECT_PRED2(testing::contains, errorText([&] { transform.initialize(context, startOf<2>(&onALine)); }),
               "not all on one line");
}

TEST(SplineKernelTransform, ManyThreadsFindTheSameVectors)
{
  const Example<3> example("ElasticBodySpline", 0);
  const std::vector<double> elsewhere = moved(example.moving, 3, randomVector(example.moving.size(), 91));
  const Points<3> points = randomPoints<3>(700, 3, {-40, -40, -40}, {60, 60, 60});
  const Points<3> expected = mapped<3>(example.transform, elsewhere, points);
  std::vector<Points<3>> found(4, Points<3>(0));
  {
    const Example<3> fresh("ElasticBodySpline", 0);
    std::vector<std::jthread> threads;
    for (Points<3>& result : found)
      threads.emplace_back([&] { result = mapped<3>(fresh.transform, elsewhere, points); });
  }
  for (const Points<3>& result : found)
    EXPECT_EQ(result.mm, expected.mm);
}

}
}
