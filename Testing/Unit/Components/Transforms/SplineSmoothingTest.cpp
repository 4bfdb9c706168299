#include "Components/Transforms/Shared/LandmarkSplines/Cholesky.h"
#include "Components/Transforms/Shared/LandmarkSplines/SmoothedLandmarks.h"
#include "Components/Transforms/Shared/LandmarkSplines/SplineSettings.h"
#include "Components/Transforms/SplineKernelTransform.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/RandomLandmarks.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

using namespace checks;
using namespace testing;

TEST(Cholesky, SolvesAtAwkwardSizesWithTheSameBitsForAnyNumberOfThreads)
{
  for (const std::size_t n : {1u, 3u, 63u, 64u, 65u, 130u, 257u}) {
    std::vector<double> matrix(n * n);
    const std::vector<double> root = randomVector(n * n, 5);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t m = 0; m < n; ++m)
          matrix[i * n + j] += root[i * n + m] * root[j * n + m];
        matrix[i * n + j] += i == j ? 1 : 0;
      }
    const std::size_t rightHandSides = n == 65 ? 35 : 3;
    const std::vector<double> expected = randomVector(n * rightHandSides, 6);
    std::vector<double> right(n * rightHandSides, 0.0), factor = matrix;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        for (std::size_t s = 0; s < rightHandSides; ++s)
          right[i * rightHandSides + s] += matrix[i * n + j] * expected[j * rightHandSides + s];

    std::vector<double> solution = right;
    ASSERT_TRUE(factorCholesky(threads(1), factor, n));
    solveCholesky(threads(1), factor, n, solution, rightHandSides);

    EXPECT_LE(largestDifference(solution, expected), 1e-10) << n; // 1e-16 times a condition of some 1e3
    std::vector<double> again = matrix;
    ASSERT_TRUE(factorCholesky(threads(3), again, n));
    solveCholesky(threads(3), again, n, right, rightHandSides);
    EXPECT_EQ(again, factor);
    EXPECT_EQ(right, solution);
  }
}

TEST(Cholesky, RefusesWhatIsNotPositiveDefinite)
{
  std::vector<double> indefinite{1, 2, 2, 1}, singular{1, 1, 1, 1};
  EXPECT_FALSE(factorCholesky(threads(1), indefinite, 2));
  EXPECT_FALSE(factorCholesky(threads(1), singular, 2));
}

/// sum weight |y - q|^2 / mean weight + smoothing * roughness of the spline through y; for K w + P a = d
/// with P^T w = 0 the roughness sign w^T K w is sign w^T d.
template <int D>
double objective(const SplineModel<D>& model, const std::vector<double>& y, const std::vector<double>& q,
                 const std::vector<double>& weights, double smoothing, double& roughness)
{
  const std::vector<double> vectors = splineVectors<D>(threads(1), model, y).value();
  double sum = 0, meanWeight = 0;
  roughness = 0;
  for (const double weight : weights)
    meanWeight += weight / static_cast<double>(weights.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    sum += weights[i / D] / meanWeight * (y[i] - q[i]) * (y[i] - q[i]);
    roughness += kernelSign<D>(model.kernel) * vectors[i] * (y[i] - model.landmarksMm[i / D][i % D]);
  }
  return sum + smoothing * roughness;
}

template <int D>
void expectLeast(SplineKernel kernel)
{
  SplineModel<D> model{.kernel = kernel, .landmarksMm = randomLandmarks<D>(40, 3, 100)};
  const std::vector<double> at = coordinates<D>(model.landmarksMm);
  const std::vector<double> moving = moved(at, 3, randomVector(at.size(), 4));
  const std::vector<double> weights = randomVector(40, 9, 0.2, 5);
  // as large as the kernel's own values at some distance, so that data and roughness both count
  const double smoothing = kernel == SplineKernel::thinPlate                   ? 20
                           : kernel == SplineKernel::elasticBodyReciprocal     ? 50
                           : kernel == SplineKernel::thinPlateR2LogR || D == 2 ? 500
                                                                               : 5000;

  const SmoothedLandmarks found =
      smoothedLandmarks<D>(threads(1), model, moving, {weights, {}}, smoothing).value();

  double roughness = 0, other = 0;
  const double least = objective<D>(model, found.movingMm, moving, weights, smoothing, roughness);
  EXPECT_GT(roughness, 0);
  EXPECT_GT(least - smoothing * roughness, 1) << "the landmarks are left";
  for (unsigned seed = 20; seed < 30; ++seed) {
    const std::vector<double> step = randomVector(at.size(), seed);
    const double up =
        objective<D>(model, moved(found.movingMm, 0.01, step), moving, weights, smoothing, other);
    const double down =
        objective<D>(model, moved(found.movingMm, -0.01, step), moving, weights, smoothing, other);
    EXPECT_GT(up, least);
    EXPECT_GT(down, least);
    EXPECT_NEAR(up - least, down - least, 1e-6 * (up - least)) << "the slope is 0";
  }
}

TEST(SplineSmoothing, MakesSquaresAndRoughnessLeastForEveryKernel)
{
  using enum SplineKernel;
  expectLeast<2>(thinPlateR2LogR);
  for (const SplineKernel kernel : {thinPlate, thinPlateR2LogR, volume, elasticBody, elasticBodyReciprocal})
    expectLeast<3>(kernel);
}

Vec<3> breathing(const Vec<3>& p)
{
  return {p[0] + 2 * std::sin(p[1] / 50), p[1] + 4 * std::exp(-(p[0] * p[0] + p[2] * p[2]) / 8000),
          p[2] + 10 / (1 + std::exp(p[2] / 30)) + 2 * std::cos(p[0] / 40)};
}

/// The mean distance in mm to the true motion, at points between the landmarks.
double errorAt(const SplineModel<3>& model, const std::vector<double>& moving)
{
  const std::vector<double> vectors = splineVectors<3>(threads(2), model, moving).value();
  const SplineOfLandmarks<3> spline{model.kernel, model.alpha(), static_cast<int>(model.landmarksMm.size()),
                                    model.landmarksMm.front().data(), vectors.data()};
  double sum = 0;
  for (const Vec<3>& p : randomLandmarks<3>(2000, 77, 230)) {
    const Vec<3> difference = minus(spline(p), breathing(p));
    sum += std::hypot(difference[0], difference[1], difference[2]) / 2000;
  }
  return sum;
}

void expectAutomaticIsGood(std::size_t count, double share)
{
  SplineModel<3> model;
  model.landmarksMm = randomLandmarks<3>(count, 1, 250);
  std::vector<Vec<3>> truth = model.landmarksMm;
  for (Vec<3>& point : truth)
    point = breathing(point);
  std::vector<double> noise(3 * count, 0.0);
  for (unsigned seed = 40; seed < 52; ++seed) { // nearly normal, deviation 0.5 mm
    const std::vector<double> part = randomVector(noise.size(), seed, -0.25, 0.25);
    for (std::size_t i = 0; i < noise.size(); ++i)
      noise[i] += part[i];
  }
  const std::vector<double> moving = moved(coordinates<3>(truth), 1, noise);
  const auto errorFor = [&](std::optional<double> smoothing) {
    return errorAt(model, smoothedLandmarks<3>(threads(2), model, moving, {}, smoothing).value().movingMm);
  };
  double best = 1e9;
  for (double smoothing = 1; smoothing < 2000; smoothing *= 1.8)
    best = std::min(best, errorFor(smoothing));

  const double automatic = errorFor({}), interpolating = errorAt(model, moving);

  EXPECT_LT(automatic, 1.1 * best);
  EXPECT_LT(automatic, share * interpolating);
  std::printf("%zu landmarks: %.3f mm interpolating, %.3f automatic, %.3f at best\n", count, interpolating,
              automatic, best);
}

TEST(SplineSmoothing, CrossValidationComesCloseToTheBest)
{
  expectAutomaticIsGood(200, 0.95); // the trace is exact
  expectAutomaticIsGood(900, 0.6);  // it is estimated
}

TEST(SplineSmoothing, HasTheSameBitsForAnyNumberOfThreads)
{
  SplineModel<3> model;
  model.landmarksMm = randomLandmarks<3>(1100, 1, 250); // more than cross-validation begins with
  const std::vector<double> at = coordinates<3>(model.landmarksMm);
  const std::vector<double> moving = moved(at, 2, randomVector(at.size(), 4));
  const SmoothedLandmarks one = smoothedLandmarks<3>(threads(1), model, moving, {}, {}).value();
  const SmoothedLandmarks three = smoothedLandmarks<3>(threads(3), model, moving, {}, {}).value();
  EXPECT_EQ(one.smoothing, three.smoothing);
  EXPECT_EQ(one.movingMm, three.movingMm);
  EXPECT_EQ(splineVectors<3>(threads(1), model, one.movingMm),
            splineVectors<3>(threads(3), model, one.movingMm));
}

TEST(SplineSmoothing, ALandmarkOfLittleWeightIsHardlyFollowed)
{
  SplineModel<3> model;
  model.landmarksMm = randomLandmarks<3>(60, 1, 100);
  std::vector<double> moving = coordinates<3>(model.landmarksMm), weights(60, 1.0);
  moving[3 * 7] += 20;
  weights[7] = 1e-4;
  const SmoothedLandmarks equal = smoothedLandmarks<3>(threads(1), model, moving, {}, 1).value();
  const SmoothedLandmarks weighted =
      smoothedLandmarks<3>(threads(1), model, moving, {weights, {}}, 1).value();
  EXPECT_GT(equal.movingMm[21] - model.landmarksMm[7][0], 15);
  EXPECT_LT(weighted.movingMm[21] - model.landmarksMm[7][0], 0.1);
}

Parameters parametersOf(const std::string& text, int dimension)
{
  return testing::parametersOf(text, dimension, 1, "Transform0");
}

template <int D>
void expectFileIsTheSameSpline(const std::string& smoothing)
{
  PointPairs<D> pairs{randomLandmarks<D>(50, 1, 100), randomLandmarks<D>(50, 1, 110), {}};
  for (std::size_t i = 0; i < 50; ++i)
    pairs.movingMm[i][0] += i % 3;
  TransformStart<D> start;
  start.points = &pairs;
  SplineKernelTransform<D> made(parametersOf("(SplineSmoothing " + smoothing + ")", D)),
      read(parametersOf("(A 1)", D));
  Context context;
  const std::vector<double> parameters = made.initialize(context, start);
  const std::string file = fileText<D>(made, parameters);
  EXPECT_PRED2(testing::contains, file, "(SplineRelaxationFactor 0)");
  EXPECT_PRED2(testing::contains, file, "(SplineSmoothing ");
  const std::vector<double> restored = read.restore({}, parametersOf(file, D));
  EXPECT_EQ(restored, parameters);
  const Points<D> points = randomPoints<D>(100, 2, -60, 60);
  const Points<D> expected = mapped<D>(made, parameters, points), found = mapped<D>(read, restored, points);
  EXPECT_LE(largestDifference(found, expected), 1e-10);
}

TEST(SplineSmoothing, FilesHoldTheSplineWithoutRelaxation)
{
  expectFileIsTheSameSpline<2>("\"auto\"");
  expectFileIsTheSameSpline<3>("\"auto\"");
  expectFileIsTheSameSpline<3>("12.5");
}

TEST(SplineSmoothing, WhatCannotBeSmoothedIsAnError)
{
  const auto made = [](const std::string& text) {
    return errorText([&] { SplineKernelTransform<3> transform(parametersOf(text, 3)); });
  };
  EXPECT_PRED2(testing::contains, made("(SplineSmoothing \"much\")"), "not a smoothing. Allowed: \"auto\"");
  EXPECT_PRED2(testing::contains, made("(SplineSmoothing -1)"), "at least 0");
  EXPECT_PRED2(testing::contains, made("(SplineSmoothing 1)\n(SplineRelaxationFactor 1)"),
               "SplineRelaxationFactor is given");
  const auto started = [](const PointPairs<3>& pairs) {
    SplineKernelTransform<3> transform(parametersOf("(SplineSmoothing \"auto\")", 3));
    TransformStart<3> start;
    start.points = &pairs;
    Context context;
    return errorText([&] { transform.initialize(context, start); });
  };
  std::vector<Vec<3>> good = randomLandmarks<3>(8, 1, 100), flat = good, equal = good;
  for (Vec<3>& point : flat)
    point[2] = 0.5 * point[0] - point[1] + 7;
  equal[5] = equal[2];
  EXPECT_PRED2(testing::contains, started({good, {}, {}}), "without -mp there is nothing to smooth");
  EXPECT_PRED2(testing::contains, started({flat, good, {}}), "not all on one plane");
  EXPECT_PRED2(testing::contains, started({equal, good, {}}), "numbers 3 and 6, counted from 1, are equal");
  good.resize(3);
  EXPECT_PRED2(testing::contains, started({good, good, {}}), "3 are too few");
}

}
}
