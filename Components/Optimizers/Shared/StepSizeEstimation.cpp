#include "Components/Optimizers/Shared/StepSizeEstimation.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Vectors/VectorOps.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

namespace tessera {
namespace {

constexpr double tiny = 1e-14; // statistics below it count as zero, as in elastix

// Keys of random numbers that are larger than any iteration's.
constexpr std::uint32_t measurementDraws = 0x80000000u, perturbationDraws = 0xC0000000u;

class Stopwatch {
public:
  std::string text() const
  {
    char text[32];
    std::snprintf(text, sizeof text, "%.6fs",
                  std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count());
    return text;
  }

private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::vector<double> standardNormalVector(const Draw& draw, std::size_t count)
{
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; i += 4) {
    const auto words = randomWords(draw, static_cast<std::uint32_t>(i / 4), 0);
    const auto first = standardNormals(words[0], words[1]), second = standardNormals(words[2], words[3]);
    const double four[] = {first[0], first[1], second[0], second[1]};
    std::copy_n(four, std::min<std::size_t>(4, count - i), values.begin() + i);
  }
  return values;
}

JacobianTerms jacobianTermsOf(CostFunction& cost, const StepSizeSettings& settings,
                              std::span<const double> position)
{
  cost.log("  Computing JacobianTerms ...");
  const Stopwatch watch;
  std::size_t found = 0;
  const JacobianTerms terms = cost.jacobianTerms(settings.jacobianMeasurements, position, found);
  if (found == 0)
    throw Error(ExitCode::registrationFailed,
                "automatic step sizes: " + std::to_string(settings.jacobianMeasurements)
                    + " samples asked for: none lies inside the fixed mask. A mask that covers some of the "
                      "fixed image at this level is needed.");
  cost.log("  Computing the Jacobian terms took " + watch.text());
  return terms;
}

GradientPower measureAndLog(CostFunction& cost, const StepSizeSettings& settings, const JacobianTerms& terms,
                            std::size_t automaticCount, std::span<const double> position,
                            std::span<Buffer<double>> vectors)
{
  std::size_t count = settings.gradientMeasurements;
  if (count == 0) {
    count = automaticCount;
    cost.log("  NumberOfGradientMeasurements to estimate sigma_i: " + std::to_string(count));
    constexpr std::size_t most = 1 << 20; // which takes hours
    if (count > most)
      failAs(ExitCode::registrationFailed, "automatic step sizes",
             std::to_string(count) + " gradients would have to be measured",
             "(Scales ...) that are less extreme, or a count, (NumberOfGradientMeasurements ...)");
  }
  cost.log("  Sampling gradients ...");
  const Stopwatch watch;
  const GradientPower power = measureGradients(cost, position, perturbationFor(terms, settings.maximumStepMm),
                                               count, settings.exactGradientSamples, vectors);
  cost.log("  Sampling the gradients took " + watch.text());
  return power;
}

/// ASGDParameterEstimationMethod "DisplacementDistribution" (Qiao et al. 2016), with the gradient g at the
/// start and delta the largest wanted step in mm:
///
///   d_j = |J_j g|                                         displacement of sample j by a step of size 1
///   large = mean(d) + 2 sigma(d), or the 95th percentile of d
///   eta = E|g|^2 / (E|g|^2 + E|error|^2)                  or 1 without NoiseCompensation
///   a = eta delta (A + 1) / large                         the first step moves few points by more than delta
EstimatedSteps estimateFromDisplacements(CostFunction& cost, const StepSizeSettings& settings,
                                         std::span<const double> position, std::span<Buffer<double>> vectors)
{
  cost.log("  Computing displacement distribution ...");
  const Stopwatch watch;
  Buffer<double>& gradient = vectors.back();
  cost.evaluate(position, gradient.span());
  std::vector<double> lengths =
      cost.displacementsMm(settings.jacobianMeasurements, position, gradient.span());
  const double large = largeDisplacement(std::move(lengths), settings.use95Percentile);
  cost.log("  Computing the displacement distribution took " + watch.text());

  EstimatedSteps estimate;
  double noiseFactor = 1;
  if (settings.compensateNoise) {
    const JacobianTerms terms = jacobianTermsOf(cost, settings, position);
    const GradientPower power = measureAndLog(cost, settings, terms, 2, position, vectors);
    noiseFactor = power.exact > 0 ? power.exact / (power.exact + power.error) : 0;
    estimate.usesRandomRegion = power.usesRandomRegion;
  }
  if (large > tiny)
    estimate.steps.a = settings.maximumStepMm * (settings.A + 1) / (large + tiny) * noiseFactor;
  return estimate;
}

}

double Sigmoid::operator()(double x) const
{
  const double beta = scale * std::log(-maximum / minimum);
  return minimum + (maximum - minimum) / (1 + std::exp(-(x - beta) / scale));
}

GradientPower measureGradients(CostFunction& cost, std::span<const double> position, double perturbation,
                               std::size_t count, std::size_t exactGradientSamples,
                               std::span<Buffer<double>> vectors)
{
  const Context& context = cost.context();
  const bool stochastic = cost.newSamplesEveryIteration() && cost.samplesAreRandom();
  GradientPower power;
  if (stochastic)
    // The gradient over a small region would differ from that of the whole image, even without noise.
    power.usesRandomRegion = cost.setRandomRegion(false);

  Buffer<double>&perturbed = vectors[0], &exact = vectors[1], &sampled = vectors[2];
  for (std::uint32_t i = 0; i < count && !cost.isStopAsked(); ++i) {
    Draw draw = cost.draw();
    draw.iteration = perturbationDraws + i;
    perturbed.fromHost(context, standardNormalVector(draw, position.size()));
    scaleInto(context, perturbation, perturbed.span(), perturbed.span());
    axpy(context, 1, position, perturbed.span());
    if (stochastic) {
      cost.evaluateOnGrid(exactGradientSamples, perturbed.span(), exact.span());
      cost.drawSamples(measurementDraws + i, 0);
      cost.evaluate(perturbed.span(), sampled.span());
      axpy(context, -1, exact.span(), sampled.span());
      power.error += dot(context, sampled.span(), sampled.span());
    } else {
      cost.evaluate(perturbed.span(), exact.span());
    }
    power.exact += dot(context, exact.span(), exact.span());
  }
  power.exact /= static_cast<double>(count);
  power.error /= static_cast<double>(count);

  if (stochastic) {
    cost.setRandomRegion(power.usesRandomRegion);
    cost.drawSamples(0, 0);
  }
  return power;
}

std::size_t gradientMeasurementsFor(const JacobianTerms& terms)
{
  constexpr double K = 1.5;
  if (!(terms.frobeniusC2 > tiny && terms.traceC > tiny))
    return 2;
  const double wanted =
      std::ceil(8 * terms.frobeniusC2 / (terms.traceC * terms.traceC) / ((K - 1) * (K - 1)));
  return std::max<std::size_t>(2, static_cast<std::size_t>(wanted));
}

double perturbationFor(const JacobianTerms& terms, double maximumStepMm)
{
  return terms.maxJJ > tiny ? maximumStepMm / std::sqrt(terms.maxJJ) : 0;
}

/// ASGDParameterEstimationMethod "Original" (Klein et al. 2009, section 2.3), with delta the largest wanted
/// step in mm and J_j, C of JacobianTerms:
///
///   sigma_1^2 = E|g|^2 / tr C,  sigma_3^2 = E|error|^2 / tr C
///   eta = sigma_1^2 / (sigma_1^2 + sigma_3^2)                        share of the gradient that is not noise
///   a = eta delta A / (sigma_1 max_j sqrt(tr(J_j C J_j^T) + 2 sqrt(2) |J_j C J_j^T|_F)),  alpha = 1
///   sigmoid: max = 1, min = -0.99 + 0.98 eta, scale = SigmoidScaleFactor sigma_3^2 |C|_F
StepSizes originalStepSizes(const StepSizeSettings& settings, const JacobianTerms& terms,
                            const GradientPower& power)
{
  const bool hasJacobian = terms.traceC > tiny;
  const double sigma1 = power.exact > tiny && hasJacobian ? std::sqrt(power.exact / terms.traceC) : 0;
  const double sigma3 = power.error > tiny && hasJacobian ? std::sqrt(power.error / terms.traceC) : 0;
  const double noiseFactor = sigma1 * sigma1 / (sigma1 * sigma1 + sigma3 * sigma3 + tiny);

  StepSizes steps;
  if (sigma1 > tiny && terms.maxJCJ > tiny)
    steps.a = settings.A * settings.maximumStepMm / sigma1 / std::sqrt(terms.maxJCJ) * noiseFactor;
  if (settings.method == StepSizeMethod::original)
    steps.sigmoid = {
        1, -0.99 + 0.98 * noiseFactor,
        std::max(tiny, settings.sigmoidScaleFactor * sigma3 * sigma3 * std::sqrt(terms.frobeniusC2))};
  return steps;
}

double largeDisplacement(std::vector<double> displacementsMm, bool use95Percentile)
{
  const std::size_t count = displacementsMm.size();
  if (count == 0)
    throw Error(ExitCode::registrationFailed,
                "automatic step sizes: displacements of no sample: none lies inside the fixed mask. A mask "
                "that covers some of the fixed image at this level is needed.");
  if (use95Percentile) {
    std::sort(displacementsMm.begin(), displacementsMm.end());
    if (count < 3)
      return displacementsMm.back();
    const auto middle = std::clamp<std::size_t>(static_cast<std::size_t>(count * 0.95), 1, count - 2);
    return (displacementsMm[middle - 1] + displacementsMm[middle] + displacementsMm[middle + 1]) / 3;
  }
  double mean = 0, variance = 0;
  for (double length : displacementsMm)
    mean += length / static_cast<double>(count);
  for (double length : displacementsMm)
    variance += (length - mean) * (length - mean) / static_cast<double>(count);
  return mean + 2 * std::sqrt(variance);
}

EstimatedSteps estimateStepSizes(CostFunction& cost, const StepSizeSettings& settings,
                                 std::span<const double> position, std::span<Buffer<double>> vectors)
{
  const Stopwatch watch;
  cost.log("Starting automatic parameter estimation for AdaptiveStochasticGradientDescent ...");
  EstimatedSteps estimate =
      withContext("estimating step sizes (AutomaticParameterEstimation)", [&]() -> EstimatedSteps {
        if (settings.method == StepSizeMethod::displacementDistribution)
          return estimateFromDisplacements(cost, settings, position, vectors);
        const JacobianTerms terms = jacobianTermsOf(cost, settings, position);
        const GradientPower power =
            measureAndLog(cost, settings, terms, gradientMeasurementsFor(terms), position, vectors);
        return {originalStepSizes(settings, terms, power), power.usesRandomRegion};
      });
  cost.log("Automatic parameter estimation took " + watch.text());
  return estimate;
}

}
