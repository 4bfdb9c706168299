#include "Components/Optimizers/QuasiNewtonLBFGS.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Vectors/VectorOps.h"
#include "Core/Registration/Stage/StageComponents.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>

namespace tessera {
namespace {

constexpr const char* name = "QuasiNewtonLBFGS";
constexpr std::size_t vectorsOfRun = 4; // and two more for each past step

const Parameter<std::int64_t> updateAccuracy = integerParameter(
    "LBFGSUpdateAccuracy", 5, 0, Arity::perLevel, "", "number of past steps that shape the search direction");

}

const ComponentDescription& QuasiNewtonLBFGS::description()
{
  const LineSearchParameters& l = lineSearchParameters();
  static const ComponentDescription description{
      Optimizer::roleName,
      name,
      "limited memory quasi-Newton method with More and Thuente's line search",
      {l.directions, l.iterations, l.stepLength, l.valueTolerance, l.gradientTolerance, l.gradientMagnitude,
       updateAccuracy, l.stopIfWolfe, l.rows, stageparameters::newSamplesEveryIteration()}};
  return description;
}

QuasiNewtonLBFGS::Level::Level(const Parameters& parameters, std::size_t level)
    : memory(static_cast<std::size_t>(parameters.get(updateAccuracy, level)))
{
  read(parameters, level);
}

void QuasiNewtonLBFGS::prepareForLevel(const Context& context, std::size_t level, std::size_t parameters)
{
  const std::size_t pastSteps =
      std::min(levels_.at(level).memory, static_cast<std::size_t>(levels_.at(level).iterations));
  vectors_ = makeVectors(context, vectorsOfRun + 2 * pastSteps, parameters);
}

/// The limited-memory BFGS method on one level: Liu and Nocedal, "On the limited memory BFGS method for large
/// scale optimization", Mathematical Programming 45, 1989; Nocedal and Wright, "Numerical Optimization",
/// 2006, algorithms 7.4 and 7.5.
///
///   for k = 0, 1, ..., MaximumNumberOfIterations - 1:
///     d_k = -H_k g_k                       computeDirection; without past steps d_k = -g_k / |g_k|
///     step = line search along d_k         strong Wolfe conditions, MoreThuenteLineSearch.h
///     y_(k+1) = y_k + step d_k
///     keep the last LBFGSUpdateAccuracy pairs s_k = y_(k+1) - y_k, z_k = g_(k+1) - g_k
///     if the gradient vanishes, or the Wolfe conditions do not hold: stop
class QuasiNewtonLBFGS::Run : LineSearchRun {
public:
  Run(CostFunction& cost, const Level& settings, std::size_t level, Buffer<double>& position,
      const IterationSink& sink, std::vector<Buffer<double>>& vectors)
      : LineSearchRun(cost, settings, level, position, sink, vectors, true), settings_(settings),
        vectors_(vectors), factors_(context_, settings.memory + 1)
  {
  }

  OptimizerReport minimize()
  {
    evaluate();
    if (gradientHasVanished())
      report_.stopCondition = gradientVanished;
    while (report_.stopCondition.empty() && computeDirection() && searchAlongDirection()) {
      remember();
      std::swap(position_, trial_);
      std::swap(gradient_, trialGradient_);
      report_.value = line_.point.value;
      norms_ = trialNorms_;
      row(line_, std::to_string(line_.iteration), "Main", nameOf(line_.stop), norms_.gradient);
      ++report_.iterations;
      if ((report_.wasStopped = cost_.isStopAsked()))
        break;
      if (cost_.newSamplesEveryIteration() && !isLastIteration()) {
        cost_.drawSamples(static_cast<std::uint32_t>(report_.iterations), 0);
        evaluate();
      }
      report_.stopCondition = stopAfterLineSearch();
    }
    return report_;
  }

private:
  struct PastStep {
    Buffer<double>*step = nullptr, *gradientChange = nullptr;
    double inverseProduct = 0; // 1 / (step . gradientChange)
    double scale = 0;          // (step . gradientChange) / (gradientChange . gradientChange)
  };
  struct Norms {
    double position = 0, gradient = 0;
  };

  void evaluate()
  {
    report_.value = cost_.evaluate(position_.span(), gradient_.span());
    norms_ = {norm(context_, position_.span()), norm(context_, gradient_.span())};
    requireFinite(name, level_, report_.iterations, report_.value, norms_.gradient);
  }

  bool gradientHasVanished() const
  {
    return norms_.gradient / std::max(1.0, norms_.position) <= settings_.gradientMagnitudeTolerance;
  }

  std::string stopAfterLineSearch() const
  {
    if (line_.point.step < std::numeric_limits<double>::epsilon())
      return "The last step size was (nearly) zero.";
    if (isLastIteration())
      return maximumIterationsReached;
    if (gradientHasVanished())
      return gradientVanished;
    if (settings_.stopIfWolfeNotSatisfied && !(line_.sufficientDecrease && line_.curvature))
      return "Wolfe conditions are not satisfied.";
    return {};
  }

  /// The two-loop recursion for d = -H g, with rho_i = 1 / (z_i . s_i) (Nocedal and Wright, algorithm 7.4):
  ///
  ///   d = -g
  ///   for i from the newest pair to the oldest:  alpha_i = rho_i s_i . d,  d = d - alpha_i z_i
  ///   d = (s . z) / (z . z) d                    of the newest pair, eq. 7.20
  ///   for i from the oldest pair to the newest:  d = d + (alpha_i - rho_i z_i . d) s_i
  ///
  /// Returns false if the curvature s . z of the newest pair is not positive.
  bool computeDirection()
  {
    scaleInto(context_, -1, gradient_.span(), direction_.span());
    if (past_.empty()) {
      scaleInto(context_, 1 / norms_.gradient, direction_.span(), direction_.span());
      return true;
    }
    if (!(past_.back().scale > 0)) {
      report_.stopCondition = "The diagonal matrix is invalid.";
      return false;
    }
    double *minusAlpha = factors_.span().data(), *last = minusAlpha + settings_.memory;
    std::vector<Projection> projections;
    for (std::size_t i = past_.size(); i-- > 0;)
      projections.push_back({past_[i].inverseProduct, past_[i].step->span(), nullptr,
                             past_[i].gradientChange->span(), minusAlpha + i});
    projections.back().scale = past_.back().scale;
    for (std::size_t i = 0; i < past_.size(); ++i)
      projections.push_back({past_[i].inverseProduct, past_[i].gradientChange->span(), minusAlpha + i,
                             past_[i].step->span(), last});
    addProjections(context_, projections, direction_.span());
    return true;
  }

  /// Searches along direction_; the point found is in trial_ and trialGradient_. If the cost fails on the
  /// way, the level ends at position_.
  bool searchAlongDirection()
  {
    const auto g = gradient_.span(), d = direction_.span();
    const std::vector<double> products = dots(context_, {{d, d}, {g, d}});
    directionNorm_ = std::sqrt(products[0]);
    const LinePoint start{0, report_.value, products[1]};
    trialNorms_ = norms_;
    copyInto(context_, position_.span(), trial_.span());
    copyInto(context_, gradient_.span(), trialGradient_.span());
    const auto evaluate = [&](double step) {
      const double value = evaluateAt(step, trialGradient_.span());
      const auto found = trialGradient_.span();
      const std::vector<double> there =
          dots(context_, {{trial_.span(), trial_.span()}, {found, found}, {found, d}});
      trialNorms_ = {std::sqrt(there[0]), std::sqrt(there[1])};
      requireFinite(name, level_, report_.iterations, value, trialNorms_.gradient);
      return LinePoint{step, value, there[2]};
    };
    const auto watch = [&](const LineSearchState& state) {
      lineRow(state, std::to_string(state.iteration), trialGradient_);
    };
    LineSearchState untried;
    untried.point = start;
    lineRow(untried, "start", trialGradient_);
    try {
      line_ = searchLine(settings_.line, start, evaluate, watch);
      return true;
    } catch (const Error& error) {
      endAfter(error, "");
      return false;
    }
  }

  void remember()
  {
    if (settings_.memory == 0)
      return;
    if (past_.size() == settings_.memory) {
      past_.push_back(past_.front()); // the new step takes over the vectors of the oldest one
      past_.pop_front();
    } else {
      const std::size_t first = vectorsOfRun + 2 * past_.size();
      past_.push_back({&vectors_.at(first), &vectors_.at(first + 1)});
    }
    PastStep& last = past_.back();
    scaleInto(context_, line_.point.step, direction_.span(), last.step->span());
    copyInto(context_, trialGradient_.span(), last.gradientChange->span());
    axpy(context_, -1, gradient_.span(), last.gradientChange->span());
    const auto s = last.step->span(), z = last.gradientChange->span();
    const std::vector<double> products = dots(context_, {{s, z}, {z, z}});
    last.inverseProduct = 1 / products[0];
    last.scale = 1 / (last.inverseProduct * products[1]);
  }

  const Level& settings_;
  std::vector<Buffer<double>>& vectors_;
  std::deque<PastStep> past_; // oldest first
  Norms norms_, trialNorms_;  // at position_ and at trial_
  Buffer<double> factors_;    // of the two-loop recursion
};

OptimizerReport QuasiNewtonLBFGS::minimize(CostFunction& cost, std::size_t level, Buffer<double>& position,
                                           const IterationSink& sink)
{
  const Level& settings = levels_.at(level);
  if (settings.iterations == 0)
    return reportOfNoIteration(cost, position.span());
  return Run(cost, settings, level, position, sink, vectors_).minimize();
}

}
