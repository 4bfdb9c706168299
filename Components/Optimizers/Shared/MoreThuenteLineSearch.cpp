#include "Components/Optimizers/Shared/MoreThuenteLineSearch.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

namespace tessera {
namespace {

constexpr double minimumStep = 1e-20, maximumStep = 1e20;
constexpr double intervalTolerance = std::numeric_limits<double>::epsilon();
/// Until a minimum is bracketed, a step may grow by at most this times its last growth.
constexpr double extrapolation = 4;
/// A bracketing interval must shrink at least by this factor in two iterations.
constexpr double shrinkage = 0.66;

/// The interval of uncertainty: its end with the lowest value, its other end, and whether it brackets a
/// minimum.
struct Interval {
  LinePoint best, other;
  bool bracketed = false;
};

double clampedRoot(double theta, double slope0, double slope1)
{
  const double scale = std::max({std::abs(theta), std::abs(slope0), std::abs(slope1)});
  const double ratio = theta / scale;
  return scale * std::sqrt(std::max(0.0, ratio * ratio - slope0 / scale * (slope1 / scale)));
}

/// The minimiser of the cubic through values and slopes at a and b, as a fraction of the way from a to b.
/// `root` receives the square root of its formula; 0 means that the cubic has no minimum beyond b.
double cubicFraction(const LinePoint& a, const LinePoint& b, double& root)
{
  const double theta = 3 * (a.value - b.value) / (b.step - a.step) + a.slope + b.slope;
  root = clampedRoot(theta, a.slope, b.slope);
  const double signedRoot = b.step < a.step ? -root : root;
  return (signedRoot - a.slope + theta) / (2 * signedRoot - a.slope + b.slope);
}

double cubicMinimiser(const LinePoint& a, const LinePoint& b)
{
  double root = 0;
  return a.step + cubicFraction(a, b, root) * (b.step - a.step);
}

/// The minimiser of the parabola through a's value and slope and b's value.
double quadraticMinimiser(const LinePoint& a, const LinePoint& b)
{
  return a.step + a.slope / ((a.value - b.value) / (b.step - a.step) + a.slope) / 2 * (b.step - a.step);
}

/// The zero of the slope by linear interpolation between a and b.
double secantStep(const LinePoint& a, const LinePoint& b)
{
  return b.step + b.slope / (b.slope - a.slope) * (a.step - b.step);
}

double nearer(double reference, double a, double b)
{
  return std::abs(a - reference) < std::abs(b - reference) ? a : b;
}

double farther(double reference, double a, double b)
{
  return std::abs(a - reference) > std::abs(b - reference) ? a : b;
}

/// The next trial in case 3: the minimum lies beyond the trial. The cubic is used only if its minimum lies
/// beyond the trial too.
double trialBeyond(const Interval& interval, const LinePoint& trial, double lower, double upper)
{
  double root = 0;
  const double fraction = cubicFraction(trial, interval.best, root);
  double cubic = trial.step > interval.best.step ? upper : lower;
  if (fraction < 0 && root != 0)
    cubic = trial.step + fraction * (interval.best.step - trial.step);
  const double secant = secantStep(interval.best, trial);
  return interval.bracketed ? nearer(trial.step, cubic, secant) : farther(trial.step, cubic, secant);
}

/// Updates the interval and chooses the next trial step (section 4 of the paper), with b the best end and t
/// the trial:
///
///   case 1, t has a higher value:           bracketed; the cubic, or the mean of cubic and parabola
///   case 2, slopes of opposite sign:        bracketed; the cubic or the secant, whichever is farther from t
///   case 3, same sign, flatter at t:        trialBeyond
///   case 4, same sign, not flatter at t:    the cubic of t and the other end; the limit if not bracketed
///
/// Returns false if the trial contradicts the interval, which rounding may cause.
bool updateInterval(Interval& interval, const LinePoint& trial, double lower, double upper, double& nextStep)
{
  const LinePoint& best = interval.best;
  const auto [low, high] = std::minmax(best.step, interval.other.step);
  if ((interval.bracketed && (trial.step <= low || trial.step >= high))
      || best.slope * (trial.step - best.step) >= 0 || upper < lower)
    return false;

  const bool slopesOppose = trial.slope * std::copysign(1.0, best.slope) < 0;
  bool bound = false; // whether the next trial must keep away from the other end
  double next = 0;
  if (trial.value > best.value) {
    const double cubic = cubicMinimiser(best, trial), quadratic = quadraticMinimiser(best, trial);
    const bool cubicIsNearer = std::abs(cubic - best.step) < std::abs(quadratic - best.step);
    next = cubicIsNearer ? cubic : cubic + (quadratic - cubic) / 2;
    interval.bracketed = bound = true;
  } else if (slopesOppose) {
    next = farther(trial.step, cubicMinimiser(trial, best), secantStep(best, trial));
    interval.bracketed = true;
  } else if (std::abs(trial.slope) < std::abs(best.slope)) {
    next = trialBeyond(interval, trial, lower, upper);
    bound = true;
  } else if (interval.bracketed) {
    next = cubicMinimiser(trial, interval.other);
  } else {
    next = trial.step > best.step ? upper : lower;
  }

  if (trial.value > best.value) {
    interval.other = trial;
  } else {
    if (slopesOppose)
      interval.other = best;
    interval.best = trial;
  }

  nextStep = std::clamp(next, lower, upper);
  if (interval.bracketed && bound) {
    const double limit = interval.best.step + shrinkage * (interval.other.step - interval.best.step);
    nextStep =
        interval.other.step > interval.best.step ? std::min(limit, nextStep) : std::max(limit, nextStep);
  }
  return true;
}

/// The paper's auxiliary function psi(step) = value(step) - value(0) - mu slope(0) step, up to its constant.
LinePoint lessDecrease(LinePoint point, double decreaseSlope)
{
  point.value -= point.step * decreaseSlope;
  point.slope -= decreaseSlope;
  return point;
}

/// The search algorithm of the paper's sections 2 to 4:
///
///   repeat:
///     evaluate the function at the trial step
///     stop if it satisfies both strong Wolfe conditions:
///       value(step) <= value(0) + mu slope(0) step          (1.1)
///       |slope(step)| <= eta |slope(0)|                     (1.2)
///     stop if the interval is too small, the step too small or too large, or iterations are used up
///     stage 1, until a step satisfies (1.1) with a slope of at least min(mu, eta) slope(0):
///       update the interval by psi if the value is the lowest so far but (1.1) does not hold,
///       and by the function otherwise
///     stage 2: update the interval by the function
///     if a bracket has not shrunk by `shrinkage` in two iterations: the next trial halves it
class Search {
public:
  Search(const LineSearchSettings& settings, const LinePoint& start)
      : settings_(settings), start_(start), decreaseSlope_(settings.valueTolerance * start.slope),
        step_(settings.firstStep)
  {
    interval_.best = interval_.other = start;
  }

  /// The step of the next evaluation.
  double nextTrial(std::size_t iteration)
  {
    if (interval_.bracketed) {
      std::tie(lower_, upper_) = std::minmax(interval_.best.step, interval_.other.step);
    } else {
      lower_ = interval_.best.step;
      upper_ = step_ + extrapolation * (step_ - interval_.best.step);
    }
    step_ = std::clamp(step_, minimumStep, maximumStep);
    if (outsideBracket() || iteration + 1 >= settings_.maximumIterations || contradicted_
        || intervalIsTooSmall())
      step_ = interval_.best.step; // the search ends with this evaluation, so it takes the best point
    return step_;
  }

  /// Whether the search ends with the evaluation in `state`, in which it enters the reason.
  bool ends(LineSearchState& state) const
  {
    const LinePoint& point = state.point;
    state.sufficientDecrease = point.value <= start_.value + step_ * decreaseSlope_;
    state.curvature = std::abs(point.slope) <= -settings_.gradientTolerance * start_.slope;
    if (state.sufficientDecrease && state.curvature)
      state.stop = LineSearchStop::wolfeSatisfied;
    else if (intervalIsTooSmall())
      state.stop = LineSearchStop::intervalTooSmall;
    else if (state.iteration + 1 >= settings_.maximumIterations)
      state.stop = LineSearchStop::maximumIterations;
    else if (step_ == minimumStep && (!state.sufficientDecrease || point.slope >= decreaseSlope_))
      state.stop = LineSearchStop::stepTooSmall;
    else if (step_ == maximumStep && state.sufficientDecrease && point.slope <= decreaseSlope_)
      state.stop = LineSearchStop::stepTooLarge;
    else if (outsideBracket() || contradicted_)
      state.stop = LineSearchStop::roundingError;
    else
      return false;
    return true;
  }

  void advance(const LineSearchState& state)
  {
    const double tolerance = std::min(settings_.valueTolerance, settings_.gradientTolerance);
    if (state.sufficientDecrease && state.point.slope >= start_.slope * tolerance)
      firstStage_ = false;
    if (firstStage_ && state.point.value <= interval_.best.value && !state.sufficientDecrease) {
      Interval auxiliary{lessDecrease(interval_.best, decreaseSlope_),
                         lessDecrease(interval_.other, decreaseSlope_), interval_.bracketed};
      contradicted_ =
          !updateInterval(auxiliary, lessDecrease(state.point, decreaseSlope_), lower_, upper_, step_);
      interval_ = {lessDecrease(auxiliary.best, -decreaseSlope_),
                   lessDecrease(auxiliary.other, -decreaseSlope_), auxiliary.bracketed};
    } else {
      contradicted_ = !updateInterval(interval_, state.point, lower_, upper_, step_);
    }
    if (!interval_.bracketed)
      return;
    const double width = std::abs(interval_.other.step - interval_.best.step);
    if (width >= shrinkage * widthBeforeLast_)
      step_ = interval_.best.step + 0.5 * (interval_.other.step - interval_.best.step);
    widthBeforeLast_ = std::exchange(lastWidth_, width);
  }

private:
  bool outsideBracket() const { return interval_.bracketed && (step_ <= lower_ || step_ >= upper_); }
  bool intervalIsTooSmall() const
  {
    return interval_.bracketed && upper_ - lower_ <= intervalTolerance * upper_;
  }

  LineSearchSettings settings_;
  LinePoint start_;
  double decreaseSlope_;
  double step_;
  double lower_ = 0, upper_ = 0;
  Interval interval_;
  bool firstStage_ = true, contradicted_ = false;
  double lastWidth_ = maximumStep - minimumStep, widthBeforeLast_ = 2 * (maximumStep - minimumStep);
};

}

const char* nameOf(LineSearchStop stop)
{
  switch (stop) {
  case LineSearchStop::wolfeSatisfied:
    return "WolfeSatisfied";
  case LineSearchStop::maximumIterations:
    return "MaxNrIterations";
  case LineSearchStop::stepTooSmall:
    return "StepTooSmall";
  case LineSearchStop::stepTooLarge:
    return "StepTooLarge";
  case LineSearchStop::intervalTooSmall:
    return "IntervalTooSmall";
  case LineSearchStop::roundingError:
    return "RoundingError";
  case LineSearchStop::ascentDirection:
    return "AscentSearchDir";
  }
  return "";
}

LineSearchState searchLine(const LineSearchSettings& settings, const LinePoint& start,
                           const std::function<LinePoint(double step)>& evaluate,
                           const std::function<void(const LineSearchState&)>& watch)
{
  LineSearchState state;
  state.point = start;
  if (start.slope >= 0)
    return state;

  Search search(settings, start);
  for (;; ++state.iteration) {
    state.point = evaluate(search.nextTrial(state.iteration));
    const bool ended = search.ends(state);
    watch(state);
    if (ended)
      return state;
    search.advance(state);
  }
}

}
