#include "Core/Registration/Samples/StripePlan.h"

#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::size_t maxStripes = 64, positionsWorthAStripe = 512, positionGranularity = 64;
constexpr std::size_t gradientBudget = (std::size_t(64) << 20) / sizeof(double);
// A position of a pull-back changes about so many numbers of a gradient; the sum of stripes reads all
// numbers.
constexpr std::size_t parametersWorthAPosition = 128;

}

StripePlan planStripes(std::size_t positions, std::size_t parameterCount)
{
  std::size_t stripes = 1;
  while (2 * stripes <= maxStripes && 2 * stripes * positionsWorthAStripe <= positions)
    stripes *= 2;
  while (stripes > 1 && stripes * parameterCount > gradientBudget)
    stripes /= 2;
  while (stripes > 2 && stripes * parameterCount > parametersWorthAPosition * positions)
    stripes /= 2;

  StripePlan plan;
  plan.positions = positions;
  const std::size_t share = (positions + stripes - 1) / stripes;
  plan.positionsPerStripe =
      std::max<std::size_t>(1, (share + positionGranularity - 1) / positionGranularity) * positionGranularity;
  plan.stripes =
      std::max<std::size_t>(1, (positions + plan.positionsPerStripe - 1) / plan.positionsPerStripe);
  return plan;
}

void StripedGradient::begin(std::span<double> gradient, std::size_t stripes)
{
  gradient_ = gradient;
  stripes_ = stripes;
  if (others_.size() < (stripes - 1) * gradient.size())
    others_.resize((stripes - 1) * gradient.size());
}

std::span<double> StripedGradient::clearedStripe(std::size_t stripe)
{
  const std::size_t count = gradient_.size();
  const std::span<double> values =
      stripe == 0 ? gradient_ : std::span<double>(others_).subspan((stripe - 1) * count, count);
  std::fill(values.begin(), values.end(), 0.0);
  return values;
}

void StripedGradient::sum(const Context& context, double factor)
{
  constexpr std::size_t range = 4096;
  const std::size_t count = gradient_.size();
  forEachRange(context, count, range, [&](std::size_t first, std::size_t last) {
    double* total = gradient_.data();
    for (std::size_t stripe = 1; stripe < stripes_; ++stripe) {
      const double* other = others_.data() + (stripe - 1) * count;
      for (std::size_t i = first; i < last; ++i)
        total[i] += other[i];
    }
    if (factor != 1)
      for (std::size_t i = first; i < last; ++i)
        total[i] *= factor;
  });
}

}
