#pragma once

#include "Core/Compute/Error.h"
#include "Core/Registration/Optimizer.h"

#include <cmath>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::testing {

/// A cost function with a formula; remembers what was asked of it.
class AnalyticCost : public CostFunction {
public:
  /// Value at a position and, unless empty, the gradient; both in scaled space.
  using Formula = std::function<double(std::span<const double> position, std::span<double> gradient)>;
  using DrawKey = std::pair<std::uint32_t, std::uint32_t>; // iteration, attempt

  AnalyticCost(std::size_t count, Formula formula) : inverseRoots(count, 1), formula_(std::move(formula)) {}

  Context processor;
  std::vector<double> inverseRoots; // 1 / sqrt(scale)
  bool newSamples = false, random = false, randomRegion = false, steep = false;
  std::vector<double> noise;  // added to the sampler's gradients, with the sign of the draw; empty: none
  std::set<DrawKey> badDraws; // draws whose samples map outside
  double spacingMm = 1;
  JacobianTerms terms;
  std::size_t jacobianSamples = 1;
  std::vector<double> displacements;

  std::vector<DrawKey> draws;
  std::vector<std::string> lines;
  std::vector<bool> regionSwitches;
  std::vector<std::vector<double>> evaluated, evaluatedOnGrid;
  std::vector<std::size_t> gridWanted, jacobianWanted;

  const Context& context() const override { return processor; }
  std::size_t parameterCount() const override { return inverseRoots.size(); }
  std::span<const double> inverseRootScales() const override { return inverseRoots; }

  double evaluate(std::span<const double> position, std::span<double> gradient) override
  {
    evaluated.emplace_back(position.begin(), position.end());
    if (badDraws.count(current_))
      throw Error(ExitCode::registrationFailed, "analytic cost: 0 of 10 samples are valid");
    const double value = formula_(position, gradient);
    const double sign = draws.size() % 2 == 0 ? 1 : -1;
    for (std::size_t i = 0; i < noise.size() && i < gradient.size(); ++i)
      gradient[i] += sign * noise[i];
    return value;
  }
  void drawSamples(std::uint32_t iteration, std::uint32_t attempt) override
  {
    current_ = {iteration, attempt};
    draws.push_back(current_);
  }
  bool samplesAreRandom() const override { return random; }
  bool isSteep() const override { return steep; }
  bool newSamplesEveryIteration() const override { return newSamples; }
  bool setRandomRegion(bool on) override
  {
    regionSwitches.push_back(on);
    return std::exchange(randomRegion, on);
  }
  double meanInPlaneSpacingMm() const override { return spacingMm; }
  double evaluateOnGrid(std::size_t wanted, std::span<const double> position,
                        std::span<double> gradient) override
  {
    gridWanted.push_back(wanted);
    evaluatedOnGrid.emplace_back(position.begin(), position.end());
    return formula_(position, gradient);
  }
  JacobianTerms jacobianTerms(std::size_t wanted, std::span<const double>, std::size_t& samplesFound) override
  {
    jacobianWanted.push_back(wanted);
    samplesFound = jacobianSamples;
    return terms;
  }
  std::vector<double> displacementsMm(std::size_t wanted, std::span<const double>,
                                      std::span<const double>) override
  {
    jacobianWanted.push_back(wanted);
    return displacements;
  }
  Draw draw() const override { return {}; }
  void log(const std::string& line) override { lines.push_back(line); }

private:
  Formula formula_;
  DrawKey current_{0, 0};
};

/// 1/2 sum of weight_i (y_i - centre_i)^2.
inline AnalyticCost::Formula quadratic(std::vector<double> weights, std::vector<double> centre)
{
  return [weights = std::move(weights), centre = std::move(centre)](std::span<const double> y,
                                                                    std::span<double> gradient) {
    double value = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double offset = y[i] - centre[i];
      value += 0.5 * weights[i] * offset * offset;
      if (!gradient.empty())
        gradient[i] = weights[i] * offset;
    }
    return value;
  };
}

/// slope . y
inline AnalyticCost::Formula linear(std::vector<double> slope)
{
  return [slope = std::move(slope)](std::span<const double> y, std::span<double> gradient) {
    double value = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      value += slope[i] * y[i];
      if (!gradient.empty())
        gradient[i] = slope[i];
    }
    return value;
  };
}

/// Sum over neighbours of 100 (y_{i+1} - y_i^2)^2 + (1 - y_i)^2; minimum 0 at (1, ..., 1).
inline double rosenbrock(std::span<const double> y, std::span<double> gradient)
{
  double value = 0;
  for (double& g : gradient)
    g = 0;
  for (std::size_t i = 0; i + 1 < y.size(); ++i) {
    const double a = y[i + 1] - y[i] * y[i], b = 1 - y[i];
    value += 100 * a * a + b * b;
    if (!gradient.empty()) {
      gradient[i] += -400 * a * y[i] - 2 * b;
      gradient[i + 1] += 200 * a;
    }
  }
  return value;
}

/// The rows that a run reported, and where it was then.
struct OptimizerRun {
  std::vector<IterationRow> rows;
  std::vector<std::vector<double>> positions; // reached at each row
  std::vector<double> final;
  OptimizerReport report;
};

inline OptimizerRun runOptimizer(Optimizer& optimizer, CostFunction& cost, const std::vector<double>& start,
                                 std::size_t level = 0)
{
  OptimizerRun run;
  Buffer<double> position(cost.context(), start.size());
  position.fromHost(cost.context(), start);
  optimizer.prepareForLevel(cost.context(), level, start.size());
  run.report = optimizer.minimize(cost, level, position,
                                  [&](const IterationRow& row, std::span<const double> reached) {
                                    run.rows.push_back(row);
                                    run.positions.emplace_back(reached.begin(), reached.end());
                                  });
  run.final = position.toHost(cost.context());
  return run;
}

}
