#pragma once

// Checks that every transform must pass, whatever its model. Each takes the transform, its parameters and
// points in mm.

#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/OptimizableTransform.h"
#include "Testing/Support/Checks/Differences.h"
#include "Testing/Support/Host.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

namespace tessera::checks {

/// Repeatable numbers in [low, high) (splitmix64), the same with every compiler.
inline std::vector<double> randomVector(std::size_t count, std::uint64_t seed, double low = -1,
                                        double high = 1)
{
  std::vector<double> values(count);
  for (double& value : values) {
    std::uint64_t z = (seed += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    value = low + (high - low) * static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }
  return values;
}

/// Any number of points, planar.
template <int D>
struct Points {
  std::array<std::vector<double>, D> mm;

  explicit Points(std::size_t count) { mm.fill(std::vector<double>(count)); }
  std::size_t count() const { return mm[0].size(); }
  ListSamples<D> list() const
  {
    ListSamples<D> samples;
    for (int d = 0; d < D; ++d)
      samples.pointMm[d] = mm[d].data();
    samples.count = count();
    return samples;
  }
  PointsOut<D> out()
  {
    PointsOut<D> arrays;
    for (int d = 0; d < D; ++d)
      arrays[d] = mm[d].data();
    return arrays;
  }
  Covectors<D> covectors() const { return list().pointMm; }
};

/// The largest difference along an axis. Infinite if a coordinate is no number.
template <int D>
double largestDifference(const Points<D>& a, const Points<D>& b)
{
  double largest = 0;
  for (int d = 0; d < D; ++d)
    largest = std::max(largest, testing::largestDifference(a.mm[d], b.mm[d]));
  return largest;
}

template <int D>
Points<D> randomPoints(std::size_t count, std::uint64_t seed, const Vec<D>& lowMm, const Vec<D>& highMm)
{
  Points<D> points(count);
  for (int d = 0; d < D; ++d)
    points.mm[d] = randomVector(count, seed + 101 * d, lowMm[d], highMm[d]);
  return points;
}

template <int D>
Points<D> randomPoints(std::size_t count, std::uint64_t seed, double lowMm, double highMm)
{
  Vec<D> low, high;
  low.fill(lowMm);
  high.fill(highMm);
  return randomPoints<D>(count, seed, low, high);
}

/// a + factor * b
inline std::vector<double> moved(std::vector<double> a, double factor, const std::vector<double>& b)
{
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] += factor * b[i];
  return a;
}

/// |a|
inline double norm(const std::vector<double>& a)
{
  return std::sqrt(std::inner_product(a.begin(), a.end(), a.begin(), 0.0));
}

template <int D>
Points<D> mapped(const Transform<D>& transform, const std::vector<double>& parameters,
                 const Points<D>& points)
{
  Context context;
  Points<D> result(points.count());
  transform.map(context, points.list(), parameters, result.out());
  return result;
}

template <int D>
Points<D> pushed(const OptimizableTransform<D>& transform, const std::vector<double>& parameters,
                 const std::vector<double>& step, const Points<D>& points)
{
  Context context;
  Points<D> result(points.count());
  transform.pushForward(context, points.list(), parameters, step, result.out());
  return result;
}

/// <v, J s> = <J^T v, s> for random v and s.
template <int D>
void expectPullBackIsAdjointOfPushForward(const OptimizableTransform<D>& transform,
                                          const std::vector<double>& parameters, const Points<D>& points)
{
  Context context;
  const std::size_t parameterCount = transform.parameterCount();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const std::vector<double> step = randomVector(parameterCount, seed);
    Points<D> covectors(points.count());
    for (int d = 0; d < D; ++d)
      covectors.mm[d] = randomVector(points.count(), 10 * seed + d);
    const std::vector<double> before =
        randomVector(parameterCount, 77 + seed); // pullBack adds to what is there
    std::vector<double> gradient = before;

    const Points<D> push = pushed<D>(transform, parameters, step, points);
    transform.pullBack(context, points.list(), parameters, covectors.covectors(), gradient);

    double left = 0, right = 0, magnitude = 0;
    for (int d = 0; d < D; ++d)
      for (std::size_t i = 0; i < points.count(); ++i) {
        left += covectors.mm[d][i] * push.mm[d][i];
        magnitude += std::abs(covectors.mm[d][i] * push.mm[d][i]);
      }
    for (std::size_t k = 0; k < parameterCount; ++k) {
      right += (gradient[k] - before[k]) * step[k];
      magnitude += std::abs(gradient[k] * step[k]) + std::abs(before[k] * step[k]);
    }
    const double roundings =
        1.2e-16 * static_cast<double>(points.count() + parameterCount); // of sums in double
    EXPECT_NEAR(left, right, roundings * magnitude + 1e-14 * magnitude) << "seed " << seed;
  }
}

/// J s against central differences of map along s. `stepSize` multiplies s; `toleranceMm` is the caller's
/// estimate of truncation (stepSize^2 times a third derivative) and rounding (1e-16 times coordinates over
/// stepSize).
template <int D>
void expectPushForwardMatchesFiniteDifferences(const OptimizableTransform<D>& transform,
                                               const std::vector<double>& parameters, const Points<D>& points,
                                               double stepSize, double toleranceMm)
{
  const std::size_t parameterCount = transform.parameterCount();
  const std::size_t singles =
      std::min<std::size_t>(parameterCount, 16); // each of the first parameters, then all at once
  for (std::size_t trial = 0; trial < singles + 3; ++trial) {
    std::vector<double> step(parameterCount, 0.0);
    if (trial < singles)
      step[trial] = 1;
    else
      step = randomVector(parameterCount, trial);

    const Points<D> push = pushed<D>(transform, parameters, step, points);

    const Points<D> above = mapped<D>(transform, moved(parameters, stepSize, step), points);
    const Points<D> below = mapped<D>(transform, moved(parameters, -stepSize, step), points);
    for (int d = 0; d < D; ++d)
      for (std::size_t i = 0; i < points.count(); ++i)
        ASSERT_NEAR(push.mm[d][i], (above.mm[d][i] - below.mm[d][i]) / (2 * stepSize), toleranceMm)
            << "trial " << trial << ", axis " << d << ", point " << i;
  }
}

/// jacobian and hessian arrays of all points, layouts as Transform::spatialDerivatives.
struct JacobiansAndHessians {
  std::vector<double> jacobian, hessian;
};

template <int D, class Evaluate>
JacobiansAndHessians evaluateSpatial(const Points<D>& points, Evaluate&& evaluate)
{
  JacobiansAndHessians derivatives{std::vector<double>(D * D * points.count()),
                                   std::vector<double>(D * symmetricCount(D) * points.count())};
  evaluate(points.list(), derivatives.jacobian.data(), derivatives.hessian.data());
  return derivatives;
}

/// The same check for anything with map(list, out) and spatial(list, jacobian, hessian): a transform or a
/// chain.
template <int D, class Map, class Spatial>
void expectSpatialMatchesFiniteDifferences(Map&& map, Spatial&& spatial, const Points<D>& points,
                                           double stepMm, double jacobianTolerance,
                                           double hessianTolerancePerMm)
{
  const std::size_t n = points.count();
  const JacobiansAndHessians found = evaluateSpatial<D>(points, spatial);
  for (int column = 0; column < D; ++column) {
    Points<D> above = points, below = points;
    for (std::size_t i = 0; i < n; ++i) {
      above.mm[column][i] += stepMm;
      below.mm[column][i] -= stepMm;
    }
    const JacobiansAndHessians jacobianAbove = evaluateSpatial<D>(above, spatial),
                               jacobianBelow = evaluateSpatial<D>(below, spatial);
    Points<D> mappedAbove(n), mappedBelow(n);
    map(above.list(), mappedAbove.out());
    map(below.list(), mappedBelow.out());
    for (int k = 0; k < D; ++k)
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_NEAR(found.jacobian[(k * D + column) * n + i],
                    (mappedAbove.mm[k][i] - mappedBelow.mm[k][i]) / (2 * stepMm), jacobianTolerance)
            << "dT" << k << "/dx" << column << " at point " << i;
        for (int row = 0, s = 0; row < D; ++row)
          for (int other = row; other < D; ++other, ++s)
            if (other == column) {
              ASSERT_NEAR(found.hessian[(k * symmetricCount(D) + s) * n + i],
                          (jacobianAbove.jacobian[(k * D + row) * n + i]
                           - jacobianBelow.jacobian[(k * D + row) * n + i])
                              / (2 * stepMm),
                          hessianTolerancePerMm)
                  << "d2T" << k << "/dx" << row << "dx" << column << " at point " << i;
            }
      }
  }
}

template <int D>
void expectSpatialDerivativesMatchFiniteDifferences(const Transform<D>& transform,
                                                    const std::vector<double>& parameters,
                                                    const Points<D>& points, double stepMm,
                                                    double jacobianTolerance, double hessianTolerancePerMm)
{
  Context context;
  expectSpatialMatchesFiniteDifferences<D>(
      [&](const ListSamples<D>& list, const PointsOut<D>& out) {
        transform.map(context, list, parameters, out);
      },
      [&](const ListSamples<D>& list, double* jacobian, double* hessian) {
        transform.differentiable()->spatialDerivatives(context, list, parameters, jacobian, hessian);
      },
      points, stepMm, jacobianTolerance, hessianTolerancePerMm);
}

/// With f(mu) = <U, jacobian> + <V, hessian> for random U, V: the pull-back of (U, V) against central
/// differences of f. spatial(parameters, list, jacobian, hessian), pullBack(list, covJacobian, covHessian,
/// gradient).
template <int D, class Spatial, class PullBack>
void expectSpatialPullBackMatchesFiniteDifferences(Spatial&& spatial, PullBack&& pullBack,
                                                   const std::vector<double>& parameters,
                                                   const Points<D>& points, double stepSize, double tolerance)
{
  const std::vector<double> covJacobian = randomVector(D * D * points.count(), 5);
  const std::vector<double> covHessian = randomVector(D * symmetricCount(D) * points.count(), 6);
  for (int part = 1; part <= 3; ++part) { // U alone, V alone, both
    const auto value = [&](const std::vector<double>& at) {
      const JacobiansAndHessians d =
          evaluateSpatial<D>(points, [&](const ListSamples<D>& list, double* jacobian, double* hessian) {
            spatial(at, list, jacobian, hessian);
          });
      return (part & 1 ? std::inner_product(covJacobian.begin(), covJacobian.end(), d.jacobian.begin(), 0.0)
                       : 0.0)
             + (part & 2 ? std::inner_product(covHessian.begin(), covHessian.end(), d.hessian.begin(), 0.0)
                         : 0.0);
    };
    std::vector<double> gradient(parameters.size(), 0.0);

    pullBack(points.list(), part & 1 ? covJacobian.data() : nullptr, part & 2 ? covHessian.data() : nullptr,
             std::span<double>(gradient));

    const std::size_t singles = std::min<std::size_t>(parameters.size(), 16);
    for (std::size_t trial = 0; trial < singles + 3; ++trial) {
      std::vector<double> step(parameters.size(), 0.0);
      if (trial < singles)
        step[trial] = 1;
      else
        step = randomVector(parameters.size(), trial);
      const double expected =
          (value(moved(parameters, stepSize, step)) - value(moved(parameters, -stepSize, step)))
          / (2 * stepSize);
      ASSERT_NEAR(std::inner_product(gradient.begin(), gradient.end(), step.begin(), 0.0), expected,
                  tolerance)
          << "part " << part << ", trial " << trial;
    }
  }
}

template <int D>
void expectPullBackOfSpatialDerivativesMatchesFiniteDifferences(const OptimizableTransform<D>& transform,
                                                                const std::vector<double>& parameters,
                                                                const Points<D>& points, double stepSize,
                                                                double tolerance)
{
  Context context;
  expectSpatialPullBackMatchesFiniteDifferences<D>(
      [&](const std::vector<double>& at, const ListSamples<D>& list, double* jacobian, double* hessian) {
        transform.differentiable()->spatialDerivatives(context, list, at, jacobian, hessian);
      },
      [&](const ListSamples<D>& list, const double* covJacobian, const double* covHessian,
          std::span<double> gradient) {
        transform.differentiable()->pullBackSpatialDerivatives(context, list, parameters, covJacobian,
                                                               covHessian, gradient);
      },
      parameters, points, stepSize, tolerance);
}

/// J of every point as a dense matrix, rows (point, axis), from pushForward of unit vectors.
template <int D>
std::vector<std::vector<double>> denseJacobian(const OptimizableTransform<D>& transform,
                                               const std::vector<double>& parameters,
                                               const std::vector<double>& scales, const Points<D>& points)
{
  const std::size_t parameterCount = transform.parameterCount();
  std::vector<std::vector<double>> rows(points.count() * D, std::vector<double>(parameterCount));
  for (std::size_t k = 0; k < parameterCount; ++k) {
    std::vector<double> unit(parameterCount, 0.0);
    unit[k] = 1 / std::sqrt(scales[k]);
    const Points<D> push = pushed<D>(transform, parameters, unit, points);
    for (std::size_t i = 0; i < points.count(); ++i)
      for (int d = 0; d < D; ++d)
        rows[i * D + d][k] = push.mm[d][i];
  }
  return rows;
}

/// The formulas of JacobianTerms written out over dense matrices.
template <int D>
JacobianTerms naiveJacobianTerms(const OptimizableTransform<D>& transform,
                                 const std::vector<double>& parameters, const std::vector<double>& scales,
                                 const Points<D>& points)
{
  const std::size_t parameterCount = transform.parameterCount(), n = points.count();
  const auto rows = denseJacobian<D>(transform, parameters, scales, points);
  std::vector<std::vector<double>> c(parameterCount, std::vector<double>(parameterCount, 0.0));
  for (const auto& row : rows)
    for (std::size_t a = 0; a < parameterCount; ++a)
      for (std::size_t b = 0; b < parameterCount; ++b)
        c[a][b] += row[a] * row[b] / static_cast<double>(n);
  JacobianTerms terms;
  for (std::size_t a = 0; a < parameterCount; ++a) {
    terms.traceC += c[a][a];
    for (std::size_t b = 0; b < parameterCount; ++b)
      terms.frobeniusC2 += c[a][b] * c[a][b];
  }
  const auto size = [&](const std::vector<std::vector<double>>& product) { // tr + 2 sqrt(2) |.|_F
    double trace = 0, squares = 0;
    for (int p = 0; p < D; ++p) {
      trace += product[p][p];
      for (int q = 0; q < D; ++q)
        squares += product[p][q] * product[p][q];
    }
    return trace + 2 * std::sqrt(2.0) * std::sqrt(squares);
  };
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<std::vector<double>> jj(D, std::vector<double>(D, 0.0)), jcj = jj;
    for (int p = 0; p < D; ++p)
      for (int q = 0; q < D; ++q)
        for (std::size_t a = 0; a < parameterCount; ++a) {
          const double left = rows[i * D + p][a];
          if (left == 0)
            continue;
          jj[p][q] += left * rows[i * D + q][a];
          for (std::size_t b = 0; b < parameterCount; ++b)
            jcj[p][q] += left * c[a][b] * rows[i * D + q][b];
        }
    terms.maxJJ = std::max(terms.maxJJ, size(jj));
    terms.maxJCJ = std::max(terms.maxJCJ, size(jcj));
  }
  return terms;
}

/// The text of a transform file: the parameters, and what the transform itself writes.
template <int D>
std::string fileText(const Transform<D>& transform, const std::vector<double>& parameters)
{
  std::vector<FileEntry> entries = transform.fileEntries();
  entries.push_back({"TransformParameters", {}, parameters});
  std::string text;
  for (const FileEntry& entry : entries) {
    text += "(" + entry.name;
    for (const std::string& word : entry.texts)
      text += " \"" + word + "\"";
    for (const double number : entry.numbers)
      text += " " + realText(number);
    text += ")\n";
  }
  return text;
}

/// jacobianTerms against the naive sums, and the same bits for one and three threads.
template <int D>
void expectJacobianTermsMatchNaive(const OptimizableTransform<D>& transform,
                                   const std::vector<double>& parameters, const std::vector<double>& scales,
                                   const Points<D>& points, double relativeTolerance = 1e-12)
{
  Context one, three;
  three.threads = 3;
  const JacobianTerms expected = naiveJacobianTerms<D>(transform, parameters, scales, points);

  const JacobianTerms terms = transform.jacobianTerms(one, points.list(), parameters, scales);
  const JacobianTerms again = transform.jacobianTerms(three, points.list(), parameters, scales);

  EXPECT_NEAR(terms.traceC, expected.traceC, relativeTolerance * expected.traceC);
  EXPECT_NEAR(terms.frobeniusC2, expected.frobeniusC2, relativeTolerance * expected.frobeniusC2);
  EXPECT_NEAR(terms.maxJJ, expected.maxJJ, relativeTolerance * expected.maxJJ);
  EXPECT_NEAR(terms.maxJCJ, expected.maxJCJ, relativeTolerance * expected.maxJCJ);
  EXPECT_EQ(terms.traceC, again.traceC);
  EXPECT_EQ(terms.frobeniusC2, again.frobeniusC2);
  EXPECT_EQ(terms.maxJJ, again.maxJJ);
  EXPECT_EQ(terms.maxJCJ, again.maxJCJ);
}

}
