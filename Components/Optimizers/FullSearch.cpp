#include "Components/Optimizers/FullSearch.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Vectors/VectorOps.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Registration/Terms/ValidSampleRule.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr std::size_t maxLevels = 10, valuesAnAxis = 5, maxAxesOfSurface = 3;
constexpr double maxPoints = 1e9;

Parameter<std::string> searchSpace(std::size_t level)
{
  return textParameter("FullSearchSpace" + std::to_string(level), "", Arity::list,
                       "axes of level i, 0 to 9, five values each: a name for the table, the number of the "
                       "transform's parameter (from 0), its lowest and highest value, and the step");
}

const Parameter<bool> writeOptimizationSurface = booleanParameter(
    "WriteOptimizationSurfaceEachResolution", false, Arity::perLevel,
    "write the values of the level as OptimizationSurface.<stage>.R<level>, an image with an axis for "
    "each axis of the search, in the order of the parameters' numbers");

/// Calls `search`. An error then tells the place in the grid, and one about too few samples in the moving
/// image the remedy, which is not one for steps.
template <class Search, class Place>
void withPlaceOfSearch(const Search& search, const std::string& space, const Place& place)
{
  try {
    search();
  } catch (const TooFewValidSamples& error) {
    throw Error(error.code(), error.finding() + "The search is at " + place()
                                  + ". Remedy: narrower ranges in (" + space + " ...).");
  } catch (Error& error) {
    if (error.code() == ExitCode::registrationFailed)
      error.addContext("(" + space + " ...): the search is at " + place());
    throw;
  }
}

std::string listed(const std::vector<std::string>& values)
{
  std::string text = "[";
  for (const std::string& value : values)
    text += " " + value;
  return text + " ]";
}

}

const ComponentDescription& FullSearch::description()
{
  static const ComponentDescription description{
      Optimizer::roleName, "FullSearch", "the best point of a grid of parameters, which is searched whole",
      [] {
        std::vector<ParameterInfo> rows;
        for (std::size_t level = 0; level < maxLevels; ++level)
          rows.push_back(searchSpace(level));
        return joinedRows({rows,
                           {writeOptimizationSurface, maximumNumberOfSamplingAttempts(),
                            stageparameters::newSamplesEveryIteration()}});
      }()};
  return description;
}

FullSearch::FullSearch(const Parameters& parameters) : parameters_(parameters)
{
  if (parameters.levelCount() > maxLevels)
    parameters.fail("NumberOfResolutions", "too many levels for the optimizer FullSearch",
                    "Allowed: at most " + std::to_string(maxLevels));
  for (std::size_t level = 0; level < parameters.levelCount(); ++level) {
    const auto window = integerParameter("ConvergenceWindow", 0, 0, Arity::perLevel, "", "");
    if (parameters.get(window, level) > 0) // the order of a grid is no descent
      parameters.fail(window.name, "the optimizer FullSearch searches its whole grid",
                      "Allowed: 0, or no such entry");
    axes_.push_back(readAxes(level));
  }
}

std::vector<FullSearch::Axis> FullSearch::readAxes(std::size_t level) const
{
  const Parameter<std::string> space = searchSpace(level);
  const auto fail = [&](const std::string& wrong, const std::string& allowed) {
    parameters_.fail(space.name, wrong, "Allowed: " + allowed);
  };
  const std::size_t values = parameters_.all(space).size();
  if (values == 0 || values % valuesAnAxis != 0)
    fail(std::to_string(values) + " values",
         "five for each axis: name, number of the parameter, lowest value, highest value, step");
  const auto number = [&](std::size_t entry) {
    return parameters_.find(realParameter(space.name, 0, Arity::list, "", ""), entry).value_or(0);
  };
  std::vector<Axis> axes;
  double points = 1;
  for (std::size_t entry = 0; entry < values; entry += valuesAnAxis) {
    const auto parameter =
        parameters_.find(integerParameter(space.name, 0, 0, Arity::list, "", ""), entry + 1).value_or(0);
    Axis axis{parameters_.find(space, entry).value_or(""), static_cast<std::size_t>(parameter),
              number(entry + 2), number(entry + 4), 0};
    const double highest = number(entry + 3), steps = std::floor((highest - axis.first) / axis.step);
    if (!(axis.step > 0) || !(steps >= 0))
      fail("the axis \"" + axis.name + "\" has no points",
           "a step above 0, and a highest value not below the lowest");
    points *= steps + 1;
    if (!(points <= maxPoints))
      fail("more than " + realText(maxPoints) + " points", "fewer, by larger steps or in several levels");
    axis.count = static_cast<std::size_t>(steps) + 1;
    if (std::ranges::find(axes, axis.parameter, &Axis::parameter) != axes.end())
      fail("parameter " + std::to_string(axis.parameter) + " has two axes", "one for each parameter");
    axes.push_back(axis);
  }
  if (parameters_.get(writeOptimizationSurface, level))
    checkSurface(level, axes.size());
  return axes;
}

void FullSearch::checkSurface(std::size_t level, std::size_t axes) const
{
  const std::string& name = writeOptimizationSurface.name;
  if (axes > maxAxesOfSurface)
    parameters_.fail(name,
                     "a search along " + std::to_string(axes) + " axes at level " + std::to_string(level),
                     "Allowed: \"false\", or at most " + std::to_string(maxAxesOfSurface) + " axes");
  const auto format = parameters_.find(textParameter("ResultImageFormat", "", Arity::single, ""));
  try {
    if (format) // its default holds every surface
      checkWritable(*format, axes > 2 ? 3 : 2, PixelType::float32);
  } catch (const Error& error) {
    throw Error(ExitCode::usage, parameters_.where(name) + ": " + error.what());
  }
}

std::vector<std::string> FullSearch::columns() const
{
  std::vector<std::string> columns;
  for (const Axis& axis : axes_.at(level_))
    columns.push_back("FS" + std::to_string(columns.size()) + ":" + axis.name + ":"
                      + std::to_string(axis.parameter));
  return columns;
}

void FullSearch::prepareForLevel(const Context& context, std::size_t level, std::size_t parameters)
{
  level_ = level;
  for (const Axis& axis : axes_.at(level))
    if (axis.parameter >= parameters)
      parameters_.fail(searchSpace(level).name,
                       "the transform has no parameter " + std::to_string(axis.parameter),
                       "Allowed: 0 to " + std::to_string(parameters - 1));
  vectors_ = makeVectors(context, 1, parameters);
}

OptimizerReport FullSearch::minimize(CostFunction& cost, std::size_t level, Buffer<double>& position,
                                     const IterationSink& sink)
{
  const Context& context = cost.context();
  const std::vector<Axis>& axes = axes_.at(level);
  std::vector<Axis> sorted = axes; // the first one runs fastest
  std::ranges::sort(sorted, {}, &Axis::parameter);
  std::size_t points = 1;
  for (const Axis& axis : sorted)
    points *= axis.count;
  const auto indexAlong = [&](std::size_t point, std::size_t parameter) {
    for (const Axis& axis : sorted) {
      if (axis.parameter == parameter)
        return point % axis.count;
      point /= axis.count;
    }
    return std::size_t(0);
  };
  copyInto(context, cost.inverseRootScales(), vectors_.at(0).span());
  const std::vector<double> inverseRoots = vectors_.at(0).toHost(context);
  std::vector<double> here = position.toHost(context);

  OptimizerReport report;
  const bool keepsSurface = parameters_.get(writeOptimizationSurface, level);
  if (keepsSurface) {
    requireMemory(sizeof(float) * static_cast<double>(points), "the image of the search", "larger steps");
    for (const Axis& axis : sorted)
      report.surface.size.push_back(axis.count);
  }
  cost.log("Total number of iterations needed in this resolution: " + std::to_string(points) + ".");
  const auto attempts = parameters_.get(maximumNumberOfSamplingAttempts(), level);
  std::size_t best = 0, at = 0; // `at`: the point that is looked at
  const auto moveTo = [&](std::size_t point) {
    at = point;
    for (const Axis& axis : sorted)
      here[axis.parameter] = axis.at(indexAlong(point, axis.parameter)) / inverseRoots[axis.parameter];
    position.fromHost(context, here);
    return std::as_const(position).span();
  };
  const auto valueAt = [&](std::size_t point) {
    const auto iteration = static_cast<std::uint32_t>(point);
    if (point > 0 && cost.newSamplesEveryIteration())
      cost.drawSamples(iteration, 0);
    return evaluateWithAttempts(cost, iteration, attempts, moveTo(point), {});
  };
  const auto place = [&] {
    return joined(axes, ", ", [&](const Axis& axis) {
      return axis.name + " = " + realText(axis.at(indexAlong(at, axis.parameter)));
    });
  };
  std::size_t point = 0; // the next one
  const auto take = [&](double value) {
    at = point;
    requireFinite("FullSearch", level, point, value, 0);
    if (point == 0 || value < report.value) {
      best = point;
      report.value = value;
    }
    if (keepsSurface)
      report.surface.values.push_back(static_cast<float>(value));
    IterationRow row{point, value, {}, {}};
    for (const Axis& axis : axes)
      row.columns.push_back(axis.at(indexAlong(point, axis.parameter)));
    ++report.iterations;
    sink(row, moveTo(point++));
    report.wasStopped = cost.isStopAsked();
    return !report.wasStopped;
  };
  const auto search = [&] {
    for (bool goesOn = true; goesOn && point < points;) {
      const std::size_t first = point;
      cost.evaluateSeveral(
          points - first, [&](std::size_t i) { return moveTo(first + i); }, take);
      goesOn = !report.wasStopped && (point == points || take(valueAt(point)));
    }
  };
  withPlaceOfSearch(search, searchSpace(level).name, place);
  moveTo(best);
  if (report.wasStopped) {
    report.surface = {};
    return report;
  }
  report.stopCondition = "The full range has been searched.";
  std::vector<std::string> index, values;
  for (const Axis& axis : sorted) {
    index.push_back(std::to_string(indexAlong(best, axis.parameter)));
    values.push_back(realText(axis.at(indexAlong(best, axis.parameter))));
  }
  cost.log("Best metric value in this resolution = " + realText(report.value));
  cost.log("Index of the point in the optimization surface image that has the best metric value: "
           + listed(index));
  cost.log("The corresponding parameter values: " + listed(values));
  return report;
}

}
