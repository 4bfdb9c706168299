#include "Core/Registration/Stage/Convergence.h"

#include "Core/Compute/Log.h"
#include "Core/Registration/Stage/StageComponents.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr std::int64_t fewestIterations = 3;       // two values lie on a line whatever noise they have
constexpr std::int64_t fewestOfRandomSamples = 10; // fewer have a standard error that tells little
constexpr double clearRise = 3;                    // standard errors
constexpr double rounding = 1e-12;                 // share of the values that is no gain

const Parameter<std::int64_t> convergenceWindow =
    integerParameter("ConvergenceWindow", 0, 0, Arity::perLevel, "iterations",
                     "0, or at least 3 (10 where samples are random): a level ends when this many iterations "
                     "gain too little (ConvergenceThreshold), or, with random samples, when ten times as "
                     "many gain nothing that exceeds their noise; 0: it does not");

const Parameter<double> convergenceThreshold =
    realParameter("ConvergenceThreshold", 0.01, Arity::perLevel, "",
                  "the share of the level's gain so far that the last ConvergenceWindow iterations must "
                  "exceed for the level to go on; below 1")
        .atLeast(0);

std::string twoDigits(double value)
{
  return significant(value, 2);
}

}

Convergence::Convergence(const Parameters& parameters, std::size_t level)
    : window_(static_cast<std::size_t>(parameters.get(convergenceWindow, level))),
      threshold_(parameters.get(convergenceThreshold, level))
{
  if (window_ > 0 && window_ < static_cast<std::size_t>(fewestIterations))
    parameters.fail(convergenceWindow.name, std::to_string(window_) + " iterations",
                    "Allowed: 0 (off), or at least " + std::to_string(fewestIterations));
  if (threshold_ >= 1)
    parameters.fail(convergenceThreshold.name, "no window gains more than its level",
                    "Allowed: a number from 0 to below 1");
}

std::vector<ParameterInfo> Convergence::parameters()
{
  return {convergenceWindow, convergenceThreshold};
}

void Convergence::check(const Parameters& parameters)
{
  const auto most = integerParameter("MaximumNumberOfIterations", 0, 0, Arity::perLevel, "", "");
  for (std::size_t level = 0; level < parameters.levelCount(); ++level) {
    const Convergence ofLevel(parameters, level);
    const std::int64_t window = parameters.get(convergenceWindow, level);
    if (window > 0 && parameters.has(most.name) && window >= parameters.get(most, level))
      parameters.warn(parameters.where(convergenceWindow.name) + ": level " + std::to_string(level)
                      + ": a window of " + std::to_string(window)
                      + " iterations never ends a level of at most "
                      + std::to_string(parameters.get(most, level)) + " (MaximumNumberOfIterations).");
  }
}

void Convergence::warnOfShortWindows(const Parameters& parameters)
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    if (const std::int64_t window = parameters.get(convergenceWindow, level);
        window > 0 && window < fewestOfRandomSamples
        && parameters.get(stageparameters::newSamplesEveryIteration(), level))
      parameters.warn(parameters.where(convergenceWindow.name) + ": level " + std::to_string(level)
                      + ": with random samples a window of " + std::to_string(window)
                      + " iterations ends a level by chance. Take at least "
                      + std::to_string(fewestOfRandomSamples) + ".");
}

/// Least squares over the positions -half, ..., half.
Convergence::Line Convergence::lineThroughLast(std::size_t count) const
{
  const auto value = [&](std::size_t i) {
    return values_[(oldest_ + values_.size() - count + i) % values_.size()];
  };
  const double half = static_cast<double>(count - 1) / 2;
  double sum = 0, moment = 0, squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double position = static_cast<double>(i) - half;
    sum += value(i);
    moment += position * value(i);
    squares += position * position;
  }
  const double middle = sum / static_cast<double>(count), slope = moment / squares;
  double residuals = 0;
  for (std::size_t i = 0; i < count; ++i)
    residuals += std::pow(value(i) - middle - slope * (static_cast<double>(i) - half), 2);
  return {middle - slope * half, middle + slope * half,
          2 * half * std::sqrt(residuals / static_cast<double>(count - 2) / squares)};
}

void Convergence::add(double value)
{
  if (window_ == 0)
    return;
  if (values_.size() < windowsOfNoise * window_) {
    values_.push_back(value);
  } else {
    values_[oldest_] = value;
    oldest_ = (oldest_ + 1) % values_.size();
  }
  if (values_.size() < window_)
    return;

  line_ = lineThroughLast(window_);
  lineLength_ = window_;
  if (!hasFirst_) {
    firstValue_ = line_.begin;
    hasFirst_ = true;
    return;
  }
  gainOfLevel_ = firstValue_ - line_.end;
  const double most = threshold_ * std::max(0.0, gainOfLevel_) + rounding * std::abs(line_.end);
  const bool isNoise = line_.standardError > std::max(most, -line_.gain() / 10);
  isReached_ = !isNoise && line_.gain() <= most;
  if (isReached_ || values_.size() < windowsOfNoise * window_)
    return;
  const Line longer = lineThroughLast(values_.size());
  if (longer.gain() > longer.standardError)
    return;
  line_ = longer;
  lineLength_ = values_.size();
  isReached_ = true;
}

std::string Convergence::stopCondition() const
{
  if (-line_.gain() > clearRise * line_.standardError + rounding * std::abs(line_.end))
    return "Not converged: the cost rose by " + twoDigits(-line_.gain()) + " in the last "
           + std::to_string(lineLength_) + " iterations.";
  const std::string start = "Converged: the last " + std::to_string(lineLength_) + " iterations gained ";
  if (lineLength_ > window_)
    return start + "nothing that exceeds the noise of the samples (" + twoDigits(line_.gain()) + " +- "
           + twoDigits(line_.standardError) + ").";
  if (line_.gain() <= rounding * std::abs(line_.end))
    return start + "nothing.";
  return start + twoDigits(100 * line_.gain() / gainOfLevel_) + " % of what the level gained ("
         + twoDigits(line_.gain()) + " of " + twoDigits(gainOfLevel_) + ").";
}

}
