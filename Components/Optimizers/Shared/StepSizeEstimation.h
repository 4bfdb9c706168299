#pragma once

#include "Core/Registration/Optimizer.h"

#include <cstdint>

namespace tessera {

// Automatic parameters of adaptive stochastic gradient descent:
// Klein, Pluim, Staring, Viergever, "Adaptive stochastic gradient descent optimisation for image
// registration", IJCV 2009; Qiao, van Lew, Lelieveldt, Staring, "Fast automatic step size estimation for
// gradient descent optimization of image registration", IEEE TMI 2016. All in the scaled space of
// CostFunction.

/// f(x) = min + (max - min) / (1 + exp(-(x - beta) / scale)) with beta such that f(0) = 0.
struct Sigmoid {
  double maximum = 1, minimum = -0.8, scale = 1e-8;

  double operator()(double x) const;
};

/// What steps a / (A + t + 1)^alpha and their adaptive time t need.
struct StepSizes {
  double a = 0, alpha = 1;
  Sigmoid sigmoid;
};

enum class StepSizeMethod { original, originalButSigmoidToDefault, displacementDistribution };

struct StepSizeSettings {
  StepSizeMethod method = StepSizeMethod::original;
  double A = 20;
  double maximumStepMm = 1;             // largest wanted displacement of a point in one step
  std::size_t gradientMeasurements = 0; // 0: from the Jacobian terms
  std::size_t jacobianMeasurements = 1000;
  std::size_t exactGradientSamples = 100000;
  double sigmoidScaleFactor = 0.1;
  bool compensateNoise = true;  // displacementDistribution only
  bool use95Percentile = false; // displacementDistribution only; otherwise mean + 2 standard deviations
};

/// Mean squared norms of exact gradients around a position and of the error of those from the sampler.
struct GradientPower {
  double exact = 0, error = 0;
  bool usesRandomRegion = false; // some sampler has UseRandomSampleRegion
};

/// Over `count` positions drawn from N(position, perturbation^2 I). The error is 0 unless samples are new
/// every iteration. Leaves the samples of iteration 0. Works in the first three of `vectors`, each as long as
/// the position and where the cost has its vectors.
GradientPower measureGradients(CostFunction&, std::span<const double> position, double perturbation,
                               std::size_t count, std::size_t exactGradientSamples,
                               std::span<Buffer<double>> vectors);

/// Measurements so that the mean squared norm is known to within a factor 1.5 by two standard deviations; at
/// least 2.
std::size_t gradientMeasurementsFor(const JacobianTerms&);

/// Standard deviation of the perturbed positions: no point moves much more than `maximumStepMm`.
double perturbationFor(const JacobianTerms&, double maximumStepMm);

/// Klein's parameters; originalButSigmoidToDefault leaves the sigmoid at its defaults.
StepSizes originalStepSizes(const StepSizeSettings&, const JacobianTerms&, const GradientPower&);

/// Mean + 2 standard deviations of n values, or the mean of the three around the 95th percentile (n >= 3,
/// else the largest).
double largeDisplacement(std::vector<double> displacementsMm, bool use95Percentile);

/// How many vectors, as long as the position, an estimation works in.
constexpr std::size_t vectorsOfEstimation(StepSizeMethod method)
{
  return method == StepSizeMethod::displacementDistribution ? 4 : 3;
}

struct EstimatedSteps {
  StepSizes steps;
  bool usesRandomRegion = false;
};

/// Runs the method at `position`, in vectorsOfEstimation vectors, and says in the log what it does.
/// Throws Error(registrationFailed) if no sample lies inside the mask or a perturbed position has too few
/// valid samples.
EstimatedSteps estimateStepSizes(CostFunction&, const StepSizeSettings&, std::span<const double> position,
                                 std::span<Buffer<double>> vectors);

}
