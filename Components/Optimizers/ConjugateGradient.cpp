#include "Components/Optimizers/ConjugateGradient.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Vectors/VectorOps.h"
#include "Core/Registration/Stage/StageComponents.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tessera {
namespace {

constexpr const char* name = "ConjugateGradient";
constexpr const char* betaNames[] = {"SteepestDescent", "FletcherReeves",  "PolakRibiere",
                                     "DaiYuan",         "HestenesStiefel", "DaiYuanHestenesStiefel"};

struct Rows {
  Parameter<std::string> type =
      textParameter("ConjugateGradientType", "DaiYuanHestenesStiefel", Arity::perLevel,
                    "how much of the last direction is kept: SteepestDescent (nothing), FletcherReeves, "
                    "PolakRibiere, DaiYuan, HestenesStiefel or DaiYuanHestenesStiefel");
  Parameter<std::string> lineSearch =
      textParameter("LineSearch", "MoreThuente", Arity::perLevel,
                    "MoreThuente (Wolfe conditions), or with steps that are never longer than "
                    "MaximumStepLength: BoundedStep (values alone), or BoundedParabola (the least point "
                    "of a parabola; fewer values)");
  Parameter<double> maximumStep =
      realParameter("MaximumStepLength", 1, Arity::perLevel, "mm",
                    "BoundedStep and BoundedParabola: largest change of a parameter in one step; if "
                    "absent, the images' mean spacing")
          .atLeast(0);
  Parameter<double> valueTolerance =
      notNegative("ValueTolerance", 1e-5,
                  "stop when the value changes by less than this share of itself: MoreThuente in 11 "
                  "iterations running, the others in one along the steepest descent");
};

const Rows rows;

}

const ComponentDescription& ConjugateGradient::description()
{
  const LineSearchParameters& l = lineSearchParameters();
  static const ComponentDescription description{
      Optimizer::roleName,
      name,
      "nonlinear conjugate gradients, with More and Thuente's line search or with steps of bounded length",
      {l.directions, rows.type, rows.lineSearch, l.iterations, l.stepLength, rows.maximumStep,
       l.valueTolerance, l.gradientTolerance, rows.valueTolerance, l.gradientMagnitude, l.stopIfWolfe, l.rows,
       stageparameters::newSamplesEveryIteration()}};
  return description;
}

ConjugateGradient::Level::Level(const Parameters& parameters, std::size_t level)
{
  const std::string type = parameters.get(rows.type, level),
                    lineSearch = parameters.get(rows.lineSearch, level);
  const auto found = std::ranges::find(betaNames, type);
  if (found == std::end(betaNames))
    parameters.fail(rows.type.name, "no such type: \"" + type + "\"",
                    "Allowed: SteepestDescent, FletcherReeves, PolakRibiere, DaiYuan, HestenesStiefel, "
                    "DaiYuanHestenesStiefel");
  beta = static_cast<Beta>(found - std::begin(betaNames));
  parabola = lineSearch == "BoundedParabola";
  boundedStep = lineSearch == "BoundedStep" || parabola;
  if (!boundedStep && lineSearch != "MoreThuente")
    parameters.fail(rows.lineSearch.name, "no such line search: \"" + lineSearch + "\"",
                    "Allowed: \"MoreThuente\", \"BoundedStep\", \"BoundedParabola\"");
  if (parameters.has(rows.maximumStep.name))
    maximumStep = parameters.get(rows.maximumStep, level);
  valueTolerance = parameters.get(rows.valueTolerance, level);
  read(parameters, level);
}

/// Nonlinear conjugate gradients on one level. The names of the choices for beta are those of Hager and
/// Zhang, "A survey of nonlinear conjugate gradient methods", Pacific J. Optimization 2, 2006.
///
///   g_0 = gradient at y_0, d_0 = -g_0
///   for k = 0, 1, ..., MaximumNumberOfIterations - 1:
///     step = line search along d_k                        searchWolfe or searchBounded
///     y_(k+1) = y_k + step d_k, g_(k+1) = gradient there, over new samples with NewSamplesEveryIteration
///     if the value changes by little, or the gradient vanishes: stop
///     beta = one of these, with z = g_(k+1) - g_k:
///       FletcherReeves    g_(k+1) . g_(k+1) / (g_k . g_k)
///       PolakRibiere      g_(k+1) . z / (g_k . g_k)
///       DaiYuan           g_(k+1) . g_(k+1) / (d_k . z)
///       HestenesStiefel   g_(k+1) . z / (d_k . z)
///       DaiYuanHestenesStiefel   max(0, min(DaiYuan, HestenesStiefel))
///       SteepestDescent   0
///     d_(k+1) = -g_(k+1) + beta d_k
///
/// MoreThuente goes the way of elastix: where a divisor of beta is not positive, or the Wolfe conditions do
/// not hold, it stops. With bounded steps the search begins again along -g instead: where d_k is no direction
/// of descent, where beta is not finite, and where the value changed by little along another direction. Their
/// PolakRibiere is max(0, ...) (Gilbert and Nocedal 1992).
class ConjugateGradient::Run : LineSearchRun {
public:
  Run(CostFunction& cost, const Level& settings, std::size_t level, Buffer<double>& position,
      const IterationSink& sink, std::vector<Buffer<double>>& vectors)
      : LineSearchRun(cost, settings, level, position, sink, vectors, !settings.boundedStep),
        settings_(settings)
  {
  }

  OptimizerReport minimize()
  {
    report_.value = cost_.evaluate(position_.span(), gradient_.span());
    measure(gradient_.span(), gradient_.span()); // there is no direction yet
    if (!settings_.boundedStep && settings_.iterations == 1) {
      cost_.log("ConjugateGradient: (MaximumNumberOfIterations 1): no iteration is made, as in elastix.");
      report_.stopCondition = maximumIterationsReached;
    } else if (gradientHasVanished())
      report_.stopCondition = gradientVanished;
    while (report_.stopCondition.empty() && turnDirection()) {
      const std::vector<double> turned =
          dots(context_, {{gradient_.span(), direction_.span()}, {direction_.span(), direction_.span()}});
      double slope = turned[0];
      directionNorm_ = std::sqrt(turned[1]);
      if (settings_.boundedStep && !(slope < 0)) { // not a direction of descent, so begin again
        scaleInto(context_, -1, gradient_.span(), direction_.span());
        isSteepest_ = true;
        slope = -gradientNorm_ * gradientNorm_;
        directionNorm_ = gradientNorm_;
      }
      const double before = report_.value;
      if (!search({0, before, slope}))
        break;
      // Where a conjugate direction leads to no lower value, or hardly to one, the steepest one may.
      beginsAgain_ = settings_.boundedStep && !isSteepest_
                     && (line_.point.step == 0 || changesLittle(before, line_.point.value));
      std::swap(position_, trial_);
      std::swap(gradient_, trialGradient_);
      lastGradientNorm_ = gradientNorm_;
      report_.value = line_.point.value;
      measure(direction_.span(), trialGradient_.span());
      if (settings_.boundedStep)
        line_.point.slope = along_;
      row(line_, std::to_string(line_.iteration), "Main", stopText_, gradientNorm_);
      ++report_.iterations;
      if ((report_.wasStopped = cost_.isStopAsked()))
        break;
      if (cost_.newSamplesEveryIteration()) {
        cost_.drawSamples(static_cast<std::uint32_t>(report_.iterations), 0);
        report_.value = cost_.evaluate(position_.span(), gradient_.span());
        measure(direction_.span(), trialGradient_.span());
      }
      report_.stopCondition = settings_.boundedStep ? stopAfterBounded(before) : stopAfterWolfe(before);
    }
    return report_;
  }

private:
  /// The products that the level needs of a new gradient_, which must be finite, in one go.
  void measure(std::span<const double> direction, std::span<const double> lastGradient)
  {
    const std::span<const double> gradient = gradient_.span(), position = position_.span();
    const std::vector<double> found = dots(context_, {{gradient, gradient},
                                                      {gradient, lastGradient},
                                                      {direction, gradient},
                                                      {direction, lastGradient},
                                                      {position, position}});
    gradientNorm_ = std::sqrt(found[0]);
    across_ = found[1];
    along_ = found[2];
    lastAlong_ = found[3];
    positionNorm_ = std::sqrt(found[4]);
    requireFinite(name, level_, report_.iterations, report_.value, gradientNorm_);
  }

  bool gradientHasVanished() const
  {
    return gradientNorm_ <= settings_.gradientMagnitudeTolerance * std::max(1.0, positionNorm_);
  }

  bool changesLittle(double before, double after) const
  {
    return 2 * std::abs(after - before)
           <= settings_.valueTolerance * (std::abs(after) + std::abs(before) + 1e-20);
  }

  std::string stopAfterWolfe(double before)
  {
    littleChanges_ = changesLittle(before, report_.value) ? littleChanges_ + 1 : 0;
    if (littleChanges_ > 10) // as in elastix
      return "Almost no decrease in function value anymore.";
    if (isLastIteration())
      return maximumIterationsReached;
    if (gradientHasVanished())
      return gradientVanished;
    if (settings_.stopIfWolfeNotSatisfied && !(line_.sufficientDecrease && line_.curvature))
      return "Wolfe conditions are not satisfied.";
    return {};
  }

  std::string stopAfterBounded(double before) const
  {
    if (!beginsAgain_ && line_.point.step < std::numeric_limits<double>::epsilon())
      return "The last step size was (nearly) zero.";
    if (isLastIteration())
      return maximumIterationsReached;
    if (beginsAgain_)
      return {};
    if (changesLittle(before, report_.value))
      return "The value changes by less than ValueTolerance.";
    return gradientHasVanished() ? gradientVanished : "";
  }

  /// Searches along direction_; the point found is in trial_ and trialGradient_. If the cost fails on the
  /// way, the level ends at position_.
  bool search(const LinePoint& start)
  {
    try {
      return settings_.boundedStep ? searchBounded(start) : searchWolfe(start);
    } catch (const Error& error) {
      endAfter(error, " A smaller " + std::string(settings_.boundedStep ? "MaximumStepLength" : "StepLength")
                          + " may help.");
      return false;
    }
  }

  /// The line search of More and Thuente (MoreThuenteLineSearch.h). It begins with the step of the last one.
  bool searchWolfe(const LinePoint& start)
  {
    copyInto(context_, position_.span(), trial_.span());
    copyInto(context_, gradient_.span(), trialGradient_.span());
    line_ = {};
    line_.point = start;
    lineRow(line_, "start", gradient_);
    LineSearchSettings line = settings_.line;
    if (report_.iterations > 0)
      line.firstStep = lastStep_;
    line_ = searchLine(
        line, start,
        [&](double step) {
          const double value = evaluateAt(step, trialGradient_.span());
          return LinePoint{step, value, dot(context_, trialGradient_.span(), direction_.span())};
        },
        [&](const LineSearchState& state) {
          line_ = state;
          lineRow(line_, std::to_string(line_.iteration), trialGradient_);
        });
    stopText_ = nameOf(line_.stop);
    lastStep_ = line_.point.step;
    return true;
  }

  /// Line searches by values, then one gradient. `bound` is the step that changes a parameter by
  /// MaximumStepLength; the first step is at most what the search before took.
  bool searchBounded(const LinePoint& start)
  {
    // The largest change of a parameter by a step of 1.
    const double perStep = largestMagnitude(context_, direction_.span());
    const double bound = settings_.maximumStep.value_or(cost_.meanInPlaneSpacingMm()) / perStep;
    const double step = lastTaken_ > 0 ? std::min(bound, lastTaken_ / perStep) : bound;
    line_ = {};
    line_.point = start;
    const double taken =
        settings_.parabola ? takeByParabola(start, step, bound) : takeByHalving(start, step, bound);
    lastTaken_ = taken * perStep;
    stopText_ = taken > 0 ? "StepTaken" : "NoImprovement";
    line_.point.value = evaluateAt(taken, trialGradient_.span());
    return true;
  }

  /// Evaluates the value at a step, and remembers it if it is the lowest so far.
  bool lowers(const LinePoint& start, double step)
  {
    const double value = evaluateAt(step, {});
    const bool lower = value < line_.point.value;
    if (lower)
      line_.point = {step, value, start.slope};
    lastTried_ = value;
    return lower;
  }

  /// Modat et al., "Fast free-form deformation using graphics processing units", 2010; returns the step
  /// taken.
  ///
  ///   taken = 0
  ///   while step > max(bound / 100, taken / 10):
  ///     if value(taken + step) < value(taken): taken = taken + step, step = min(1.1 step, bound)
  ///     else: step = step / 2
  double takeByHalving(const LinePoint& start, double step, double bound)
  {
    // `smallest` is a share of the bound, `negligible` one of the step taken so far.
    constexpr double longer = 1.1, shorter = 0.5, smallest = 0.01, negligible = 0.1;
    double taken = 0;
    for (; line_.iteration < settings_.line.maximumIterations
           && step > std::max(smallest * bound, negligible * taken);
         ++line_.iteration) {
      if (lowers(start, taken + step)) {
        taken += step;
        step = std::min(step * longer, bound);
      } else {
        step *= shorter;
      }
      lineRow(line_, std::to_string(line_.iteration), gradient_);
    }
    return taken;
  }

  /// The least point of the parabola through the value and slope at the start and the value at the step. It
  /// is tried unless it is beside that step. Where neither lowers the value, the shorter of them is the next
  /// step, and a parabola through it follows. Returns the step taken.
  double takeByParabola(const LinePoint& start, double step, double bound)
  {
    constexpr double beside = 0.2, farthest = 4, nearest = 0.1, smallest = 0.01;
    const auto tried = [&](double at) {
      const bool lower = lowers(start, at);
      lineRow(line_, std::to_string(line_.iteration), gradient_);
      ++line_.iteration;
      return lower;
    };
    while (line_.iteration < settings_.line.maximumIterations && step > smallest * bound) {
      const bool lower = tried(step);
      const double curvature = (lastTried_ - start.value - start.slope * step) / (step * step),
                   longest = std::min(bound, farthest * step),
                   least = curvature > 0 ? std::clamp(-start.slope / (2 * curvature), nearest * step, longest)
                                         : longest;
      const bool leastIsLower = std::abs(least - step) > beside * step && tried(least);
      if (lower || leastIsLower)
        break;
      step = std::min(0.5 * step, least);
    }
    return line_.point.step;
  }

  /// direction = -g' + beta direction, where g' is gradient_. Returns false if the level ends because beta
  /// has a divisor that is not positive.
  bool turnDirection()
  {
    if (report_.iterations == 0) {
      scaleInto(context_, -1, gradient_.span(), direction_.span());
      return true;
    }
    const double gg = lastGradientNorm_ * lastGradientNorm_, newGg = gradientNorm_ * gradientNorm_;
    const double along = along_ - lastAlong_; // direction . (gradient_ - the one before)
    const double daiYuan = newGg / along, hestenesStiefel = (newGg - across_) / along;
    double beta = 0, divisor = along;
    switch (settings_.beta) {
    case Beta::steepestDescent:
      divisor = 1;
      break;
    case Beta::fletcherReeves:
      divisor = gg;
      beta = newGg / gg;
      break;
    case Beta::polakRibiere:
      divisor = gg;
      beta = (newGg - across_) / gg;
      beta = settings_.boundedStep ? std::max(0.0, beta) : beta;
      break;
    case Beta::daiYuan:
      beta = daiYuan;
      break;
    case Beta::hestenesStiefel:
      beta = hestenesStiefel;
      break;
    case Beta::daiYuanHestenesStiefel:
      beta = std::max(0.0, std::min(daiYuan, hestenesStiefel));
      break;
    }
    if (!settings_.boundedStep && divisor <= std::numeric_limits<double>::epsilon()) {
      report_.stopCondition = "The beta factor became infinite.";
      return false;
    }
    if (settings_.boundedStep && (!std::isfinite(beta) || beginsAgain_))
      beta = 0;
    isSteepest_ = beta == 0;
    scaleInto(context_, beta, direction_.span(), direction_.span());
    axpy(context_, -1, gradient_.span(), direction_.span());
    return true;
  }

  const Level& settings_;
  std::string stopText_;
  bool isSteepest_ = true;        // direction_ is that of the steepest descent
  bool beginsAgain_ = false;      // the next direction of a bounded search is that of the steepest descent
  std::size_t littleChanges_ = 0; // iterations running that changed the value by little
  double gradientNorm_ = 0, lastGradientNorm_ = 0, positionNorm_ = 0, lastStep_ = 1;
  // gradient_ . the one before, gradient_ . direction_, the gradient before . direction_
  double across_ = 0, along_ = 0, lastAlong_ = 0;
  /// The largest change of a parameter that the last bounded search took.
  double lastTaken_ = 0, lastTried_ = 0; // a change of a parameter; a value
};

OptimizerReport ConjugateGradient::minimize(CostFunction& cost, std::size_t level, Buffer<double>& position,
                                            const IterationSink& sink)
{
  const Level& settings = levels_.at(level);
  if (settings.iterations == 0)
    return reportOfNoIteration(cost, position.span());
  return Run(cost, settings, level, position, sink, vectors_).minimize();
}

}
