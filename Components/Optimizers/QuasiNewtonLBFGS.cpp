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
        vectors_(vectors), products_(ofGradient_ + 1, std::vector<double>(ofGradient_ + 1))
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
  struct Norms {
    double position = 0, gradient = 0;
  };

  /// The cost at position_, and the products of its gradient with itself and with all vectors of past steps.
  void evaluate()
  {
    const std::vector<std::size_t> vectors = vectorsOfSteps();
    const auto g = gradient_.span();
    std::vector<VectorPair> pairs{{position_.span(), position_.span()}, {g, g}};
    for (const std::size_t vector : vectors)
      pairs.push_back({g, vectorOf(vector)});
    std::vector<double> found;
    report_.value = cost_.evaluateWithProducts(position_.span(), g, pairs, found);
    norms_ = {std::sqrt(found[0]), std::sqrt(found[1])};
    requireFinite(name, level_, report_.iterations, report_.value, norms_.gradient);
    setProduct(ofGradient_, ofGradient_, found[1]);
    for (std::size_t i = 0; i < vectors.size(); ++i)
      setProduct(ofGradient_, vectors[i], found[2 + i]);
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
  /// d is a weighted sum of all s_i, z_i and g, so that their products are enough to find the weights (Chen
  /// et al., "Large-scale L-BFGS using MapReduce", NeurIPS 2014), and vectors are read once. Returns false if
  /// the curvature s . z of the newest pair is not positive.
  bool computeDirection()
  {
    std::vector<double> weights(products_.size());
    weights[ofGradient_] = -1;
    const auto productWith = [&](std::size_t vector) {
      double sum = 0;
      for (std::size_t i = 0; i < weights.size(); ++i)
        sum += weights[i] * products_[vector][i];
      return sum;
    };
    if (past_.empty()) {
      weights[ofGradient_] = -1 / norms_.gradient;
    } else {
      const auto curvature = [&](std::size_t slot) { return products_[2 * slot][2 * slot + 1]; };
      const double scale = curvature(past_.back()) / products_[2 * past_.back() + 1][2 * past_.back() + 1];
      if (!(scale > 0)) {
        report_.stopCondition = "The diagonal matrix is invalid.";
        return false;
      }
      std::vector<double> alphas(settings_.memory);
      for (std::size_t i = past_.size(); i-- > 0;) {
        const std::size_t slot = past_[i];
        alphas[slot] = productWith(2 * slot) / curvature(slot);
        weights[2 * slot + 1] -= alphas[slot];
      }
      for (double& weight : weights)
        weight *= scale;
      for (const std::size_t slot : past_)
        weights[2 * slot] += alphas[slot] - productWith(2 * slot + 1) / curvature(slot);
    }
    slope_ = productWith(ofGradient_);
    double squared = 0;
    std::vector<WeightedVector> terms{{weights[ofGradient_], gradient_.span()}};
    for (std::size_t i = 0; i < weights.size(); ++i)
      squared += weights[i] * productWith(i);
    for (const std::size_t i : vectorsOfSteps())
      terms.push_back({weights[i], vectorOf(i)});
    directionNorm_ = std::sqrt(std::max(0.0, squared));
    sumInto(context_, terms, {}, direction_.span());
    return true;
  }

  /// Searches along direction_; the point found is in trial_ and trialGradient_, and their products with the
  /// vectors that stay in ofTrial_. If the cost fails on the way, the level ends at position_.
  bool searchAlongDirection()
  {
    const auto d = direction_.span();
    const LinePoint start{0, report_.value, slope_};
    staying_ = vectorsOfSteps(past_.size() == settings_.memory ? 1 : 0);
    ofDirection_.clear();
    if (slope_ >= 0) { // the search ends where it begins
      trialNorms_ = norms_;
      copyInto(context_, position_.span(), trial_.span());
      copyInto(context_, gradient_.span(), trialGradient_.span());
    }
    const auto evaluate = [&](double step) {
      const auto g = trialGradient_.span();
      std::vector<VectorPair> pairs{{trial_.span(), trial_.span()}, {g, d}, {g, g}, {g, gradient_.span()}};
      for (const std::size_t vector : staying_)
        pairs.push_back({g, vectorOf(vector)});
      const std::size_t ofTrial = pairs.size();
      if (ofDirection_.empty()) { // they do not change along the line
        pairs.insert(pairs.end(), {{d, d}, {d, gradient_.span()}});
        for (const std::size_t vector : staying_)
          pairs.push_back({d, vectorOf(vector)});
      }
      std::vector<double> found;
      moveAlong(step);
      const double value = cost_.evaluateWithProducts(trial_.span(), g, pairs, found);
      ofTrial_.assign(found.begin() + 1, found.begin() + static_cast<std::ptrdiff_t>(ofTrial));
      if (ofDirection_.empty())
        ofDirection_.assign(found.begin() + static_cast<std::ptrdiff_t>(ofTrial), found.end());
      trialNorms_ = {std::sqrt(found[0]), std::sqrt(found[2])};
      requireFinite(name, level_, report_.iterations, value, trialNorms_.gradient);
      return LinePoint{step, value, found[1]};
    };
    const auto watch = [&](const LineSearchState& state) {
      lineRow(state, std::to_string(state.iteration), trialGradient_);
    };
    LineSearchState untried;
    untried.point = start;
    lineRow(untried, "start", gradient_);
    try {
      line_ = searchLine(settings_.line, start, evaluate, watch);
      return true;
    } catch (const Error& error) {
      endAfter(error, "");
      return false;
    }
  }

  /// Keeps the step s = step d and the change of the gradient z = g' - g. Their products follow from those of
  /// the search: s . v = step d . v and z . v = g' . v - g . v.
  void remember()
  {
    if (ofDirection_.empty()) // the search ended where it began
      return;
    const double step = line_.point.step, withDirection = ofTrial_[0], squared = ofTrial_[1],
                 withBefore = ofTrial_[2];
    if (settings_.memory > 0) {
      std::size_t slot = past_.size();
      if (slot == settings_.memory) { // the new step takes over the vectors of the oldest one
        slot = past_.front();
        past_.pop_front();
      }
      past_.push_back(slot);
      const std::size_t s = 2 * slot, z = s + 1;
      scaleInto(context_, step, direction_.span(), vectorOf(s));
      const WeightedVector change[] = {{1, trialGradient_.span()}, {-1, gradient_.span()}};
      sumInto(context_, change, {}, vectorOf(z));
      for (std::size_t i = 0; i < staying_.size(); ++i) {
        setProduct(s, staying_[i], step * ofDirection_[2 + i]);
        setProduct(z, staying_[i], ofTrial_[3 + i] - products_[ofGradient_][staying_[i]]);
      }
      setProduct(s, s, step * step * ofDirection_[0]);
      setProduct(s, z, step * (withDirection - ofDirection_[1]));
      setProduct(z, z, squared - withBefore - (withBefore - products_[ofGradient_][ofGradient_]));
      setProduct(ofGradient_, s, step * withDirection);
      setProduct(ofGradient_, z, squared - withBefore);
    }
    for (std::size_t i = 0; i < staying_.size(); ++i)
      setProduct(ofGradient_, staying_[i], ofTrial_[3 + i]);
    setProduct(ofGradient_, ofGradient_, squared);
  }

  /// The step of a slot for an even number, its change of the gradient for an odd one; last the gradient.
  std::span<double> vectorOf(std::size_t number)
  {
    return number == ofGradient_ ? gradient_.span() : vectors_.at(vectorsOfRun + number).span();
  }
  /// Their numbers for past steps, oldest first, but for the `without` oldest ones.
  std::vector<std::size_t> vectorsOfSteps(std::size_t without = 0) const
  {
    std::vector<std::size_t> numbers;
    for (std::size_t i = without; i < past_.size(); ++i)
      numbers.insert(numbers.end(), {2 * past_[i], 2 * past_[i] + 1});
    return numbers;
  }
  void setProduct(std::size_t i, std::size_t j, double product)
  {
    products_[i][j] = products_[j][i] = product;
  }

  const Level& settings_;
  std::vector<Buffer<double>>& vectors_;
  std::deque<std::size_t> past_; // the slots of past steps, oldest first
  Norms norms_, trialNorms_;     // at position_ and at trial_
  double slope_ = 0;             // of the value along direction_
  const std::size_t ofGradient_ = 2 * settings_.memory;
  /// The products of vectorOf(i) and vectorOf(j). Those of places that are not used yet are 0.
  std::vector<std::vector<double>> products_;
  std::vector<std::size_t> staying_; // the vectors that will be there after the search, too
  /// Products of the gradient at trial_ with direction_, itself, gradient_, and the vectors that stay.
  std::vector<double> ofTrial_;
  /// Products of direction_ with itself, gradient_, and the vectors that stay.
  std::vector<double> ofDirection_;
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
