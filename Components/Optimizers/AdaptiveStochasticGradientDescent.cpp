#include "Components/Optimizers/AdaptiveStochasticGradientDescent.h"

#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Vectors/VectorOps.h"
#include "Core/Registration/Stage/StageComponents.h"

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

constexpr const char* name = "AdaptiveStochasticGradientDescent";

Parameter<double> realAtLeastZero(const char* parameter, double defaultValue, const char* unit,
                                  const char* meaning)
{
  return realParameter(parameter, defaultValue, Arity::perLevel, unit, meaning).atLeast(0);
}

Parameter<double> maximumStepLengthRow()
{
  return realAtLeastZero("MaximumStepLength", std::numeric_limits<double>::quiet_NaN(), "mm",
                         "largest displacement of a point in one step; MaximumStepLengthRatio times the mean "
                         "in-plane spacing of both images if not given. With TransformFoldingPenalty no "
                         "parameter changes by more");
}

Parameter<bool> flag(const char* parameter, bool defaultValue, const char* meaning)
{
  return booleanParameter(parameter, defaultValue, Arity::perLevel, meaning);
}

Parameter<std::int64_t> count(const char* parameter, std::int64_t defaultValue, std::int64_t minimum,
                              const char* meaning)
{
  return integerParameter(parameter, defaultValue, minimum, Arity::perLevel, "", meaning);
}

Parameter<double> manual(const char* parameter, double defaultValue, const char* meaning)
{
  return realParameter(parameter, defaultValue, Arity::perLevel, "", meaning);
}

struct Rows {
  Parameter<std::int64_t> iterations = maximumNumberOfIterations(500);
  Parameter<std::int64_t> samplingAttempts = maximumNumberOfSamplingAttempts();
  Parameter<bool> automatic = flag("AutomaticParameterEstimation", true,
                                   "estimate SP_a, SP_alpha and the sigmoid at each level's start");
  Parameter<bool> adaptive = flag("UseAdaptiveStepSizes", true,
                                  "let the time of the step sizes follow the gradients; off with "
                                  "UseRandomSampleRegion and automatic estimation");
  Parameter<bool> cruz = flag("UseCruzAcceleration", true, "old name of UseAdaptiveStepSizes");
  Parameter<bool> constantStep = flag("UseConstantStep", false, "steps of size a / (A + 1)^alpha throughout");
  Parameter<double> A = realAtLeastZero("SP_A", 20, "", "step size a / (A + t + 1)^alpha: A");
  Parameter<double> initialTime = realAtLeastZero("SigmoidInitialTime", 0, "", "time t at the level's start");

  Parameter<std::string> method = textParameter(
      "ASGDParameterEstimationMethod", "Original", Arity::single, "how automatic parameters are found",
      {"Original", "OriginalButSigmoidToDefault", "DisplacementDistribution"});
  Parameter<double> maximumStepLength = maximumStepLengthRow();
  Parameter<double> maximumStepRatio =
      realAtLeastZero("MaximumStepLengthRatio", 1, "", "MaximumStepLength in mean in-plane spacings");
  Parameter<std::int64_t> gradientMeasurements =
      count("NumberOfGradientMeasurements", 0, 0,
            "positions at which gradients are measured; 0: as many as needed")
          .atMost(1e6); // more would take days
  Parameter<std::int64_t> jacobianMeasurements =
      count("NumberOfJacobianMeasurements", 0, 0,
            "samples for statistics of the Jacobian; 0: the larger of 1000 and the parameters");
  Parameter<std::int64_t> exactGradientSamples =
      count("NumberOfSamplesForExactGradient", 100000, 1, "samples of the gradients that count as exact");
  Parameter<double> sigmoidScaleFactor =
      realAtLeastZero("SigmoidScaleFactor", 0.1, "", "width of the automatic sigmoid");
  Parameter<bool> noiseCompensation =
      booleanParameter("NoiseCompensation", true, Arity::single,
                       "DisplacementDistribution: shorten steps by the noise of sampled gradients");
  Parameter<std::string> displacementMethod = textParameter(
      "MaximumDisplacementEstimationMethod", "2sigma", Arity::single,
      "DisplacementDistribution: which displacement may reach MaximumStepLength", {"2sigma", "95percentile"});

  Parameter<double> a =
      realAtLeastZero("SP_a", 400, "", "step size a / (A + t + 1)^alpha: a, if not automatic");
  Parameter<double> alpha =
      realAtLeastZero("SP_alpha", 0.602, "", "step size a / (A + t + 1)^alpha: alpha, if not automatic");
  Parameter<double> sigmoidMaximum =
      manual("SigmoidMax", 1, "largest step of the time, above 0, if not automatic");
  Parameter<double> sigmoidMinimum =
      manual("SigmoidMin", -0.8, "smallest step of the time, below 0, if not automatic");
  Parameter<double> sigmoidScale =
      manual("SigmoidScale", 1e-8, "width of the sigmoid, above 0, if not automatic");

  Parameter<std::int64_t> bandSize =
      count("MaxBandCovSize", 192, 1,
            "elastix stores the covariance of Jacobians in so many bands; no effect on results");
  Parameter<std::int64_t> bandSamples =
      count("NumberOfBandStructureSamples", 10, 1,
            "elastix looks for the bands of MaxBandCovSize in so many samples; no effect on results");
  Parameter<bool> progress =
      flag("ShowProgressPercentage", false, "no effect on results: progress of the estimation is not shown");
};

const Rows rows;

StepSizes readGivenSteps(const Parameters& parameters, std::size_t level)
{
  const Rows& r = rows;
  const StepSizes given{parameters.get(r.a, level),
                        parameters.get(r.alpha, level),
                        {parameters.get(r.sigmoidMaximum, level), parameters.get(r.sigmoidMinimum, level),
                         parameters.get(r.sigmoidScale, level)}};
  if (!(given.sigmoid.maximum > 0))
    parameters.fail(r.sigmoidMaximum.name, "the sigmoid of the time must rise above 0",
                    "Allowed: a number above 0");
  if (!(given.sigmoid.minimum < 0))
    parameters.fail(r.sigmoidMinimum.name, "the sigmoid of the time must fall below 0",
                    "Allowed: a number below 0");
  if (!(given.sigmoid.scale > 0))
    parameters.fail(r.sigmoidScale.name, "the sigmoid of the time needs a width",
                    "Allowed: a number above 0");
  return given;
}

StepSizeSettings readEstimation(const Parameters& parameters, std::size_t level)
{
  const Rows& r = rows;
  const auto chosen = std::find(r.method.choices.begin(), r.method.choices.end(), parameters.get(r.method))
                      - r.method.choices.begin();
  StepSizeSettings settings;
  settings.method = static_cast<StepSizeMethod>(chosen); // the choices are in the enumeration's order
  settings.A = parameters.get(r.A, level);
  settings.gradientMeasurements = static_cast<std::size_t>(parameters.get(r.gradientMeasurements, level));
  settings.jacobianMeasurements = static_cast<std::size_t>(parameters.get(r.jacobianMeasurements, level));
  settings.exactGradientSamples = static_cast<std::size_t>(parameters.get(r.exactGradientSamples, level));
  settings.sigmoidScaleFactor = parameters.get(r.sigmoidScaleFactor, level);
  settings.compensateNoise = parameters.get(r.noiseCompensation);
  settings.use95Percentile = parameters.get(r.displacementMethod) == "95percentile";
  return settings;
}

std::vector<FileEntry> settingsAsRun(const StepSizes& steps, double A)
{
  return {{"SP_a", {}, {steps.a}},
          {"SP_A", {}, {A}},
          {"SP_alpha", {}, {steps.alpha}},
          {"SigmoidMax", {}, {steps.sigmoid.maximum}},
          {"SigmoidMin", {}, {steps.sigmoid.minimum}},
          {"SigmoidScale", {}, {steps.sigmoid.scale}}};
}

}

const ComponentDescription& AdaptiveStochasticGradientDescent::description()
{
  const Rows& r = rows;
  static const ComponentDescription description{Optimizer::roleName,
                                                name,
                                                "stochastic gradient descent with adaptive, automatically "
                                                "estimated step sizes (Klein et al., IJCV 2009)",
                                                {r.iterations,
                                                 r.samplingAttempts,
                                                 stageparameters::newSamplesEveryIteration(),
                                                 r.automatic,
                                                 r.adaptive,
                                                 r.cruz,
                                                 r.constantStep,
                                                 r.A,
                                                 r.initialTime,
                                                 r.method,
                                                 r.maximumStepLength,
                                                 r.maximumStepRatio,
                                                 r.gradientMeasurements,
                                                 r.jacobianMeasurements,
                                                 r.exactGradientSamples,
                                                 r.sigmoidScaleFactor,
                                                 r.noiseCompensation,
                                                 r.displacementMethod,
                                                 r.a,
                                                 r.alpha,
                                                 r.sigmoidMaximum,
                                                 r.sigmoidMinimum,
                                                 r.sigmoidScale,
                                                 r.bandSize,
                                                 r.bandSamples,
                                                 r.progress}};
  return description;
}

AdaptiveStochasticGradientDescent::Level
AdaptiveStochasticGradientDescent::readLevel(const Parameters& parameters, std::size_t level)
{
  const Rows& r = rows;
  Level settings;
  settings.iterations = parameters.get(r.iterations, level);
  settings.samplingAttempts = parameters.get(r.samplingAttempts, level);
  settings.automatic = parameters.get(r.automatic, level);
  settings.adaptive = parameters.get(parameters.has(r.adaptive.name) ? r.adaptive : r.cruz, level);
  settings.constantStep = parameters.get(r.constantStep, level);
  settings.initialTime = parameters.get(r.initialTime, level);
  settings.maximumStepRatio = parameters.get(r.maximumStepRatio, level);
  if (parameters.has(r.maximumStepLength.name))
    settings.maximumStepMm = parameters.get(r.maximumStepLength, level);
  settings.estimation = readEstimation(parameters, level);
  if (!settings.automatic)
    settings.given = readGivenSteps(parameters, level);
  return settings;
}

EstimatedSteps AdaptiveStochasticGradientDescent::stepSizes(const Level& level, CostFunction& cost,
                                                            std::span<const double> position)
{
  if (!level.automatic)
    return {level.given, false};
  // Bytes for the Jacobian terms and for the gradients that are compared.
  constexpr double bytesAParameter = 100;
  requireMemory(bytesAParameter * static_cast<double>(cost.parameterCount()),
                "(AutomaticParameterEstimation \"true\"): " + std::to_string(cost.parameterCount())
                    + " parameters of the transform",
                "a wider grid spacing, or another optimizer");
  StepSizeSettings settings = level.estimation;
  settings.maximumStepMm = level.maximumStep(cost);
  if (settings.jacobianMeasurements == 0)
    settings.jacobianMeasurements = std::max<std::size_t>(1000, cost.parameterCount());
  return estimateStepSizes(cost, settings, position, vectors_);
}

void AdaptiveStochasticGradientDescent::prepareForLevel(const Context& context, std::size_t level,
                                                        std::size_t parameters)
{
  constexpr std::size_t forDescent = 2;
  const Level& settings = levels_.at(level);
  vectors_ = makeVectors(
      context, settings.automatic ? vectorsOfEstimation(settings.estimation.method) : forDescent, parameters);
}

/// Klein, Pluim, Staring, Viergever, "Adaptive stochastic gradient descent optimisation for image
/// registration", IJCV 81, 2009, section 2: gradient descent after Robbins and Monro, with the adaptive time
/// of Plakhov and Cruz. y is the position in scaled space (CostFunction).
///
///   a, A, alpha, f = stepSizes()                          given, or estimated (StepSizeEstimation.h)
///   t_0 = SigmoidInitialTime
///   for k = 0, 1, ..., MaximumNumberOfIterations - 1:
///     draw new samples, if NewSamplesEveryIteration
///     g_k = gradient of the cost at y_k over these samples
///     gamma_k = a / (A + t_k + 1)^alpha                   the step size
///     y_(k+1) = y_k - gamma_k g_k
///     t_(k+1) = max(0, t_k + f(-g_k . g_(k-1)))           for k > 0; t_1 = t_0
///
/// If a term of the cost is steep, no element of y changes by more than MaximumStepLength: where gradients
/// are much larger than those that gave a, steps would grow from one to the next.
///
/// f is a sigmoid with f(0) = 0: time goes back, and steps grow, while two gradients point the same way.
/// Without UseAdaptiveStepSizes t grows by (max f + min f) / 2 in each iteration. With UseConstantStep
/// gamma_k has t = 0.
OptimizerReport AdaptiveStochasticGradientDescent::minimize(CostFunction& cost, std::size_t level,
                                                            Buffer<double>& position,
                                                            const IterationSink& sink)
{
  const Level& settings = levels_.at(level);
  const Context& context = cost.context();
  if (settings.iterations == 0)
    return reportOfNoIteration(cost, position.span());

  OptimizerReport report;
  const auto [steps, usesRandomRegion] = stepSizes(settings, cost, position.span());
  if ((report.wasStopped = cost.isStopAsked()))
    return report;
  const bool adaptive = settings.adaptive && !usesRandomRegion;
  if (settings.adaptive && !adaptive)
    cost.log("UseAdaptiveStepSizes is turned off, because UseRandomSampleRegion is set to \"true\".");
  const DecayingGain gain{steps.a, settings.estimation.A, steps.alpha};

  report.settings = settingsAsRun(steps, gain.A);
  Buffer<double>&gradient = vectors_.at(0), &previousGradient = vectors_.at(1);
  double time = settings.initialTime;
  for (std::uint32_t k = 0; k < settings.iterations; ++k) {
    if (k > 0 && cost.newSamplesEveryIteration())
      cost.drawSamples(k, 0);
    std::swap(gradient, previousGradient);
    report.value = evaluateWithAttempts(cost, k, settings.samplingAttempts, position.span(), gradient.span());
    const std::vector<double> found =
        dots(context, {{gradient.span(), gradient.span()},
                       {gradient.span(), (k > 0 ? previousGradient : gradient).span()}});
    const double gradientNorm = std::sqrt(found[0]), alongPrevious = found[1];
    requireFinite(name, level, k, report.value, gradientNorm);
    const double stepSize = gain.at(settings.constantStep ? 0 : time);
    if (cost.isSteep())
      addBounded(context, -stepSize, gradient.span(), settings.maximumStep(cost), position.span());
    else
      axpy(context, -stepSize, gradient.span(), position.span());
    ++report.iterations;
    sink({k, report.value, {time, stepSize, gradientNorm}, {}}, position.span());
    if ((report.wasStopped = cost.isStopAsked()))
      return report;

    if (!adaptive)
      time += (steps.sigmoid.maximum + steps.sigmoid.minimum) / 2;
    else if (k > 0)
      time = std::max(0.0, time + steps.sigmoid(-alongPrevious));
  }
  report.stopCondition = maximumIterationsReached;
  return report;
}

}
