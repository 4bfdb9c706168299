#include "Components/Optimizers/Shared/LineSearchRows.h"

#include "Core/Compute/Vectors/VectorOps.h"

#include <utility>

namespace tessera {

Parameter<double> notNegative(const char* parameter, double defaultValue, const char* meaning)
{
  return realParameter(parameter, defaultValue, Arity::perLevel, "", meaning).atLeast(0);
}

const LineSearchParameters& lineSearchParameters()
{
  static const LineSearchParameters parameters{
      maximumNumberOfIterations(100),
      integerParameter("MaximumNumberOfLineSearchIterations", 20, 1, Arity::perLevel, "",
                       "evaluations of one line search"),
      notNegative(
          "StepLength", 1,
          "first step of a line search, in lengths of the search direction; ConjugateGradient: of the "
          "first MoreThuente search of a level, the others begin with the last step"),
      notNegative("LineSearchValueTolerance", 1e-4, "first Wolfe condition: share of the expected decrease"),
      notNegative("LineSearchGradientTolerance", 0.9,
                  "second Wolfe condition: share of the slope that may remain"),
      notNegative("GradientMagnitudeTolerance", 1e-6,
                  "stop when the gradient's norm is below this times max(1, norm of the position)"),
      booleanParameter("StopIfWolfeNotSatisfied", true, Arity::perLevel,
                       "stop when a line search fails the Wolfe conditions"),
      booleanParameter("GenerateLineSearchIterations", false, Arity::single,
                       "a row of the iteration table for each line search step")};
  return parameters;
}

void LineSearchLevel::read(const Parameters& parameters, std::size_t level)
{
  const LineSearchParameters& p = lineSearchParameters();
  iterations = parameters.get(p.directions, level);
  gradientMagnitudeTolerance = parameters.get(p.gradientMagnitude, level);
  stopIfWolfeNotSatisfied = parameters.get(p.stopIfWolfe, level);
  rowsOfLineSearch = parameters.get(p.rows);
  line = {parameters.get(p.stepLength, level), parameters.get(p.valueTolerance, level),
          parameters.get(p.gradientTolerance, level),
          static_cast<std::size_t>(parameters.get(p.iterations, level))};
  if (line.gradientTolerance < line.valueTolerance)
    parameters.fail(p.gradientTolerance.name, "no step could satisfy both Wolfe conditions",
                    "Allowed: at least LineSearchValueTolerance, here "
                        + std::to_string(line.valueTolerance));
}

std::vector<std::string> lineSearchColumns()
{
  // The columns with numbers come before those with texts.
  return {"3:StepLength", "4a:||Gradient||", "4b:||SearchDir||", "4c:DirGradient", "1a:SrchDirNr",
          "1b:LineItNr",  "5:Phase",         "6a:Wolfe1",        "6b:Wolfe2",      "7:LinSrchStopCondition"};
}

LineSearchRun::LineSearchRun(CostFunction& cost, const LineSearchLevel& settings, std::size_t level,
                             Buffer<double>& position, const IterationSink& sink,
                             std::vector<Buffer<double>>& vectors, bool hasWolfeConditions)
    : cost_(cost), context_(cost.context()), level_(level), position_(position), gradient_(vectors.at(0)),
      direction_(vectors.at(1)), trial_(vectors.at(2)), trialGradient_(vectors.at(3)), settings_(settings),
      sink_(sink), hasWolfeConditions_(hasWolfeConditions)
{
}

void LineSearchRun::moveAlong(double step)
{
  const WeightedVector terms[] = {{1, position_.span()}, {step, direction_.span()}};
  sumInto(context_, terms, {}, trial_.span());
}

double LineSearchRun::evaluateAt(double step, std::span<double> gradient)
{
  moveAlong(step);
  return cost_.evaluate(trial_.span(), gradient);
}

void LineSearchRun::endAfter(const Error& error, const std::string& advice)
{
  if (error.code() != ExitCode::registrationFailed)
    throw;
  cost_.log(error.what());
  cost_.log("The error is ignored and convergence is assumed." + advice);
  report_.stopCondition = "Error in LineSearch.";
}

void LineSearchRun::lineRow(const LineSearchState& state, const std::string& lineIteration,
                            const Buffer<double>& gradient)
{
  if (settings_.rowsOfLineSearch)
    row(state, lineIteration, "LineOptimizing", "---", norm(context_, gradient.span()));
}

void LineSearchRun::row(const LineSearchState& state, const std::string& lineIteration,
                        const std::string& phase, const std::string& stop, double gradientNorm)
{
  const auto trueOrFalse = [&](bool value) {
    return std::string(!hasWolfeConditions_ ? "-" : value ? "true" : "false");
  };
  sink_({rowCount_++,
         state.point.value,
         {state.point.step, gradientNorm, directionNorm_, state.point.slope},
         {std::to_string(report_.iterations), lineIteration, phase, trueOrFalse(state.sufficientDecrease),
          trueOrFalse(state.curvature), stop},
         phase != "Main"},
        std::as_const(position_).span());
}

}
