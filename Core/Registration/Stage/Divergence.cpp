#include "Core/Registration/Stage/Divergence.h"

#include "Core/Compute/Error.h"
#include "Core/Registration/Stage/Remedy.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

namespace tessera {
namespace {

constexpr double clearlyWorse = 0.1; // share of the larger of both costs

template <int D>
double valueAt(Cost<D>& cost, const TransformChain<D>& chain)
{
  const Buffer<double> position = cost.positionOf(chain.parameters);
  return cost.evaluate(position.span(), {});
}

/// Nothing if too few samples are valid there.
template <int D>
std::optional<double> valueIfValid(Cost<D>& cost, const TransformChain<D>& chain)
{
  try {
    return valueAt(cost, chain);
  } catch (const Error& error) {
    if (error.code() != ExitCode::registrationFailed)
      throw;
    return std::nullopt;
  }
}

std::string format(const char* format, double a, double b, double c)
{
  char text[300];
  std::snprintf(text, sizeof text, format, a, b, c);
  return text;
}

}

template <int D>
std::string whyDiverged(Cost<D>& cost, const Motion& motion, double diagonalOfFixedMm,
                        const TransformChain<D>& start, const TransformChain<D>& end, double requiredShare)
{
  const std::string remedy = ". No result is written. " + remedyOfDivergence(motion, diagonalOfFixedMm) + ".";
  if (!(motion.insideAtEnd >= std::min(fewInside, requiredShare))
      && motion.insideAtEnd < motion.insideAtStart / 2)
    return format(
               "the samples have left the moving image: %.1f %% of the points of the fixed image (and mask) "
               "map into it, at the start of the stage it was %.1f %%; they moved %.1f mm on average",
               100 * motion.insideAtEnd, 100 * motion.insideAtStart, motion.meanMm)
           + remedy;
  const bool movedFar = motion.meanMm > farAway * diagonalOfFixedMm;
  if (!movedFar || motion.insideAtEnd > motion.insideAtStart + farAway)
    return "";
  const double atEnd = valueAt(cost, end);
  const std::optional<double> atStart = valueIfValid(cost, start);
  if (!atStart || !(atEnd - *atStart > clearlyWorse * std::max(std::abs(atEnd), std::abs(*atStart))))
    return "";
  return format("the result is worse than the start of the stage: the metric is %.6g, at the start it was "
                "%.6g on the same samples, and points moved %.1f mm on average",
                atEnd, *atStart, motion.meanMm)
         + remedy;
}

template <int D>
std::string whyWorse(Cost<D>& cost, const TransformChain<D>& start, const TransformChain<D>& end,
                     std::size_t iteration)
{
  constexpr int draws = 10;
  constexpr double negligible = 1e-4, standardErrors = 3; // a share of the value
  const int count = cost.samplesAreRandom() ? draws : 1;
  double atStart = 0, atEnd = 0, squares = 0;
  for (int draw = 0; draw < count; ++draw) {
    if (count > 1)
      cost.drawSamples(static_cast<std::uint32_t>(iteration + draw), 0);
    const std::optional<double> before = valueIfValid(cost, start), after = valueIfValid(cost, end);
    if (!before || !after)
      return "";
    atStart += *before / count;
    atEnd += *after / count;
    squares += (*after - *before) * (*after - *before) / count;
  }
  const double worse = atEnd - atStart,
               error = count > 1 ? std::sqrt(std::max(0.0, squares - worse * worse) / (count - 1)) : 0;
  if (!(worse > standardErrors * error + negligible * std::abs(atStart)))
    return "";
  return format("the metric of the last level is worse at the end of the stage (%.6g) than at its start "
                "(%.6g), on the same samples; the difference is known to %.2g.",
                atEnd, atStart, error);
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(whyWorse<D>, whyDiverged<D>);

}
