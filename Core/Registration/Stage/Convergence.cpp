#include "Core/Registration/Stage/Convergence.h"

#include "Core/Parameters/ParameterText.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::int64_t fewestIterations = 3; // two values lie on a line whatever noise they have

const Parameter<std::int64_t>& convergenceWindow()
{
  static const auto parameter = integerParameter(
      "ConvergenceWindow", 0, 0, Arity::perLevel, "iterations",
      "a level ends when this many iterations gain too little (ConvergenceThreshold); 0: it does not");
  return parameter;
}

const Parameter<double>& convergenceThreshold()
{
  static const auto parameter = [] {
    auto row = realParameter(
        "ConvergenceThreshold", 0.01, Arity::perLevel, "",
        "the share of the level's gain so far that the last ConvergenceWindow iterations must exceed "
        "for the level to go on");
    row.minimum = 0;
    return row;
  }();
  return parameter;
}

}

Convergence::Convergence(const Parameters& parameters, std::size_t level)
    : window_(static_cast<std::size_t>(parameters.get(convergenceWindow(), level))),
      threshold_(parameters.get(convergenceThreshold(), level))
{
  if (window_ > 0 && window_ < static_cast<std::size_t>(fewestIterations))
    parameters.fail(convergenceWindow().name, std::to_string(window_) + " iterations",
                    "Allowed: 0 (off), or at least " + std::to_string(fewestIterations));
}

std::vector<ParameterInfo> Convergence::parameters()
{
  return {convergenceWindow(), convergenceThreshold()};
}

void Convergence::add(double value)
{
  if (window_ == 0)
    return;
  if (values_.size() < window_) {
    values_.push_back(value);
  } else {
    values_[oldest_] = value;
    oldest_ = (oldest_ + 1) % window_;
  }
  if (values_.size() < window_)
    return;

  // Least squares over positions -half, ..., half.
  const double half = static_cast<double>(window_ - 1) / 2;
  double sum = 0, moment = 0, squares = 0;
  for (std::size_t i = 0; i < window_; ++i) {
    const double position = static_cast<double>(i) - half, v = values_[(oldest_ + i) % window_];
    sum += v;
    moment += position * v;
    squares += position * position;
  }
  const double middle = sum / static_cast<double>(window_), slope = moment / squares;
  if (!hasFirst_)
    firstValue_ = middle - slope * half;
  gainOfWindow_ = -slope * 2 * half;
  gainOfLevel_ = firstValue_ - (middle + slope * half);
  isReached_ = hasFirst_ && gainOfWindow_ <= threshold_ * std::max(0.0, gainOfLevel_);
  hasFirst_ = true;
}

std::string Convergence::stopCondition() const
{
  return "Converged: the last " + std::to_string(window_) + " iterations gained " + realText(gainOfWindow_)
         + " of the level's gain of " + realText(gainOfLevel_) + ".";
}

}
