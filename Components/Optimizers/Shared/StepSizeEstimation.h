#pragma once

#include "Core/Registration/Optimizer.h"

namespace tessera {

// The automatic parameters of adaptive stochastic gradient descent: Klein, Pluim, Staring, Viergever,
// "Adaptive stochastic gradient descent optimisation for image registration", IJCV 2009; Qiao, van Lew,
// Lelieveldt, Staring, "Fast automatic step size estimation for gradient descent optimization of image
// registration", IEEE TMI 2016. All vectors are in the scaled space of CostFunction.

/// f(x) = min + (max - min) / (1 + exp(-(x - beta) / scale)) with beta such that f(0) = 0.
struct Sigmoid {
  double maximum = 1, minimum = -0.8, scale = 1e-8;

  double operator()(double x) const;
};

/// The parameters of the step size a / (A + t + 1)^alpha and of its adaptive time t, except A.
struct StepSizes {
  double a = 0, alpha = 1;
  Sigmoid sigmoid;
};

enum class StepSizeMethod { original, originalButSigmoidToDefault, displacementDistribution };

struct StepSizeSettings {
  StepSizeMethod method = StepSizeMethod::original;
  double A = 20;
  double maximumStepMm = 1;             // largest wanted displacement of a point in one step
  std::size_t gradientMeasurements = 0; // 0: as many as the Jacobian terms ask for
  std::size_t jacobianMeasurements = 1000;
  std::size_t exactGradientSamples = 100000;
  double sigmoidScaleFactor = 0.1;
  // These two are for displacementDistribution. Without use95Percentile, mean + 2 standard deviations count.
  bool compensateNoise = true;
  bool use95Percentile = false;
};

/// Mean squared norms of exact gradients around a position, and of the errors of gradients over the sampler's
/// samples.
struct GradientPower {
  double exact = 0, error = 0;
  bool usesRandomRegion = false; // whether a sampler has UseRandomSampleRegion
};

/// Measures gradients at `count` positions drawn from N(position, perturbation^2 I). The error is 0 unless
/// each iteration draws new samples. Afterwards the samples are those of iteration 0. The first three of
/// `vectors` are overwritten; they must be as long as the position and lie where the cost has its vectors.
/// Once the cost's isStopAsked is true no further gradient is measured, and the result means nothing.
GradientPower measureGradients(CostFunction&, std::span<const double> position, double perturbation,
                               std::size_t count, std::size_t exactGradientSamples,
                               std::span<Buffer<double>> vectors);

/// The number of measurements, at least 2, after which two standard deviations of the mean squared norm are
/// less than half of it (Klein et al. 2009).
std::size_t gradientMeasurementsFor(const JacobianTerms&);

/// The standard deviation of perturbed positions with which hardly a point moves more than `maximumStepMm`.
double perturbationFor(const JacobianTerms&, double maximumStepMm);

/// The parameters of Klein et al.; with originalButSigmoidToDefault the sigmoid keeps its defaults.
StepSizes originalStepSizes(const StepSizeSettings&, const JacobianTerms&, const GradientPower&);

/// A displacement that few of the given ones exceed: their mean + 2 standard deviations, or the mean of the
/// three around the 95th percentile (the largest one if there are fewer than three).
double largeDisplacement(std::vector<double> displacementsMm, bool use95Percentile);

/// How many vectors of the position's length an estimation needs.
constexpr std::size_t vectorsOfEstimation(StepSizeMethod method)
{
  return method == StepSizeMethod::displacementDistribution ? 4 : 3;
}

struct EstimatedSteps {
  StepSizes steps;
  bool usesRandomRegion = false;
};

/// Estimates the step sizes at `position` and writes to the log. `vectors` are vectorsOfEstimation vectors,
/// which are overwritten. Throws Error(registrationFailed) if no sample lies inside the mask, or if a
/// perturbed position has too few valid samples.
EstimatedSteps estimateStepSizes(CostFunction&, const StepSizeSettings&, std::span<const double> position,
                                 std::span<Buffer<double>> vectors);

}
