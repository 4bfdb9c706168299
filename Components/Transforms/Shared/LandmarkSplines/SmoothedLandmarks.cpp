#include "Components/Transforms/Shared/LandmarkSplines/SmoothedLandmarks.h"

#include "Core/Compute/Math/SmallMatrix.h"

#include <cmath>
#include <stdexcept>

namespace tessera {
namespace {

/// The logarithm (base 10) of the smoothing with the least cross-validation between two others, by golden
/// section. Empty: the system is singular for one of them.
std::optional<double> bestBetween(const Context& context, ProjectedSystem& system,
                                  const std::vector<double>& right, std::size_t rightHandSides, double low,
                                  double high)
{
  constexpr double shrink = 0.6180339887498949, tolerance = 0.04; // 10 % from end to end
  bool failed = false;
  const auto scoreAt = [&](double logarithm) {
    failed = failed || !system.factor(context, std::pow(10.0, logarithm));
    return failed ? 0 : system.crossValidation(context, right, rightHandSides);
  };
  double a = high - shrink * (high - low), b = low + shrink * (high - low);
  double scoreA = scoreAt(a), scoreB = scoreAt(b);
  while (high - low > tolerance && !failed) {
    if (scoreA < scoreB) {
      high = b;
      b = a;
      scoreB = scoreA;
      scoreA = scoreAt(a = high - shrink * (high - low));
    } else {
      low = a;
      a = b;
      scoreA = scoreB;
      scoreB = scoreAt(b = low + shrink * (high - low));
    }
  }
  return failed ? std::nullopt : std::optional((low + high) / 2);
}

/// The logarithm of the best of powers of 10, from 1e-8 to 1e4 times the mean diagonal of K.
std::optional<double> bestPower(const Context& context, ProjectedSystem& system,
                                const std::vector<double>& right, std::size_t rightHandSides)
{
  std::optional<double> best;
  double least = 0;
  for (int power = -8; power <= 4; ++power) {
    const double logarithm = std::log10(system.meanDiagonal()) + power;
    if (!system.factor(context, std::pow(10.0, logarithm)))
      continue;
    const double score = system.crossValidation(context, right, rightHandSides);
    if (!best || score < least) {
      best = logarithm;
      least = score;
    }
  }
  return best;
}

/// The smoothing with the least cross-validation. Its power of 10 is found on a part of the landmarks: it
/// tells the errors of landmarks from the roughness of their motion, and neither depends on their number.
template <int D>
std::optional<double> bestSmoothing(const Context& context, const SplineModel<D>& model,
                                    ProjectedSystem& system, const RowFactors<D>& factors,
                                    const std::vector<double>& right)
{
  const std::size_t block = factors.block(model), rightHandSides = D / block, n = model.landmarksMm.size(),
                    step = (n * block + 999) / 1000; // at most 1000 rows are left
  std::optional<double> power;
  if (step > 1) {
    SplineModel<D> part = model;
    part.landmarksMm.clear();
    std::vector<double> rightOfPart;
    for (std::size_t i = 0; i < n; i += step) {
      part.landmarksMm.push_back(model.landmarksMm[i]);
      rightOfPart.insert(rightOfPart.end(), right.begin() + static_cast<std::ptrdiff_t>(i * D),
                         right.begin() + static_cast<std::ptrdiff_t>(i * D + D));
    }
    ProjectedSystem partSystem = projectedSystem<D>(context, part, factors.thinned(step));
    if (partSystem.isDetermined())
      power = bestPower(context, partSystem, rightOfPart, rightHandSides);
  }
  if (!power)
    power = bestPower(context, system, right, rightHandSides);
  if (!power)
    return {};
  const std::optional<double> best =
      bestBetween(context, system, right, rightHandSides, *power - 1, *power + 1);
  return best ? std::optional(std::pow(10.0, *best)) : std::nullopt;
}

/// The factors of rows for errors of landmarks, and their inverses. The mean of inverse variances becomes 1.
template <int D>
struct Whitening {
  RowFactors<D> factors;
  std::vector<Matrix<D>> inverses;

  Whitening(const LandmarkErrors<D>& errors, std::size_t landmarks)
  {
    const auto n = static_cast<double>(landmarks);
    double mean = 0;
    for (const Matrix<D>& covariance : errors.covariances) {
      const std::optional<Matrix<D>> factor = choleskyFactor<D>(covariance);
      if (!factor)
        throw std::invalid_argument("a covariance that is not positive definite");
      inverses.push_back(*factor);
      factors.matrices.push_back(inverse(inverses.back()));
      for (const auto& row : factors.matrices.back()) // its squares are the trace of the inverse
        for (const double entry : row)
          mean += entry * entry / (D * n);
    }
    for (std::size_t i = 0; i < inverses.size(); ++i)
      for (std::size_t a = 0; a < D; ++a)
        for (std::size_t b = 0; b < D; ++b) {
          factors.matrices[i][a][b] /= std::sqrt(mean);
          inverses[i][a][b] *= std::sqrt(mean);
        }
    if (!inverses.empty())
      return;
    for (const double weight : errors.weights)
      mean += weight / n;
    for (const double weight : errors.weights)
      factors.scales.push_back(std::sqrt(weight / mean));
  }
  Vec<D> whitened(const Vec<D>& value, std::size_t i) const { return apply<D>(factors.of(i), value); }
  Vec<D> restored(const Vec<D>& value, std::size_t i) const
  {
    if (!inverses.empty())
      return apply<D>(inverses[i], value);
    Vec<D> result = value;
    for (double& component : result)
      component /= factors.scales.empty() ? 1 : factors.scales[i];
    return result;
  }
};

}

template <int D>
std::optional<SmoothedLandmarks> smoothedLandmarks(const Context& context, const SplineModel<D>& model,
                                                   std::span<const double> movingLandmarksMm,
                                                   const LandmarkErrors<D>& errors,
                                                   std::optional<double> smoothing)
{
  // With (L L^T) the covariance of an error, rows multiplied by L^-1 are those of equal, independent errors.
  const std::size_t n = model.landmarksMm.size();
  const Whitening<D> whitening(errors, n);
  const auto landmark = [](std::span<const double> numbers, std::size_t i) {
    Vec<D> values;
    for (std::size_t d = 0; d < D; ++d)
      values[d] = numbers[D * i + d];
    return values;
  };
  std::vector<double> right;
  for (std::size_t i = 0; i < n; ++i) {
    const Vec<D> row = whitening.whitened(minus(landmark(movingLandmarksMm, i), model.landmarksMm[i]), i);
    right.insert(right.end(), row.begin(), row.end());
  }
  ProjectedSystem system = projectedSystem<D>(context, model, whitening.factors);
  if (!system.isDetermined())
    return {};
  if (!smoothing && n > D + 1)
    smoothing = bestSmoothing<D>(context, model, system, whitening.factors, right);
  if (!smoothing && n > D + 1)
    return {};
  SmoothedLandmarks result{{}, smoothing.value_or(0)};
  if (!system.factor(context, result.smoothing))
    return {};
  system.solve(context, right, D / whitening.factors.block(model));
  // (K + sign smoothing covariance) w + P a = d, so the spline differs from d by the second term
  for (std::size_t i = 0; i < n; ++i) {
    const Vec<D> difference = whitening.restored(landmark(right, i), i);
    for (std::size_t d = 0; d < D; ++d)
      result.movingMm.push_back(movingLandmarksMm[D * i + d]
                                - kernelSign<D>(model.kernel) * result.smoothing * difference[d]);
  }
  return result;
}

TESSERA_INSTANTIATE_FUNCTIONS(smoothedLandmarks<D>);

}
