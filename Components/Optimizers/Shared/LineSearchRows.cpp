#include "Components/Optimizers/Shared/LineSearchRows.h"

namespace tessera {

Parameter<double> notNegative(const char* parameter, double defaultValue, const char* meaning)
{
  Parameter<double> row = realParameter(parameter, defaultValue, Arity::perLevel, "", meaning);
  row.minimum = 0;
  return row;
}

const LineSearchParameters& lineSearchParameters()
{
  static const LineSearchParameters parameters{
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

LineSearchSettings readLineSearch(const Parameters& parameters, std::size_t level)
{
  const LineSearchParameters& p = lineSearchParameters();
  const LineSearchSettings line{parameters.get(p.stepLength, level), parameters.get(p.valueTolerance, level),
                                parameters.get(p.gradientTolerance, level),
                                static_cast<std::size_t>(parameters.get(p.iterations, level))};
  if (line.gradientTolerance < line.valueTolerance)
    parameters.fail(p.gradientTolerance.name, "no step could satisfy both Wolfe conditions",
                    "Allowed: at least LineSearchValueTolerance, here "
                        + std::to_string(line.valueTolerance));
  return line;
}

std::vector<std::string> lineSearchColumns()
{
  // The columns with numbers come before those with texts.
  return {"3:StepLength", "4a:||Gradient||", "4b:||SearchDir||", "4c:DirGradient", "1a:SrchDirNr",
          "1b:LineItNr",  "5:Phase",         "6a:Wolfe1",        "6b:Wolfe2",      "7:LinSrchStopCondition"};
}

IterationRow lineSearchRow(std::size_t row, const LineSearchState& state, double gradientNorm,
                           double directionNorm, std::size_t direction, const std::string& lineIteration,
                           const std::string& phase, const std::string& stop, bool hasWolfeConditions)
{
  const auto trueOrFalse = [&](bool value) {
    return std::string(!hasWolfeConditions ? "-" : value ? "true" : "false");
  };
  return {row,
          state.point.value,
          {state.point.step, gradientNorm, directionNorm, state.point.slope},
          {std::to_string(direction), lineIteration, phase, trueOrFalse(state.sufficientDecrease),
           trueOrFalse(state.curvature), stop},
          phase != "Main"};
}

}
