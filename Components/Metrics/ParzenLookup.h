#pragma once

#include "Components/Metrics/ParzenWindows.h"

#include <bit>
#include <limits>

namespace tessera {

/// ParzenAxis::window by one fused multiply-add and no division, for intensities that no limit bends. It gives the same bin or
/// says that it cannot tell.
class QuickParzenAxis {
public:
  QuickParzenAxis() = default;
  /// `lowest`, `highest`: beyond these a limiter is at work.
  QuickParzenAxis(const ParzenAxis& axis, double lowest, double highest)
      : scale_(1 / axis.binSize), offset_(0.5 - axis.order / 2.0 - axis.normalizedMin + magic), lowest_(roundedUp(lowest)),
        highest_(-roundedUp(-highest))
  {
    // Half a unit each from the offset and the sum, where a unit is 2^-32 bin; 2^-53 of the terms from each operation, here and
    // in ParzenAxis::window: with room to spare, 2^-49 of the largest.
    const double units = 4 + std::ldexp(std::abs(axis.normalizedMin) + axis.bins, 32 - 49);
    if (units < maximumDoubt && startOf(axis, lowest_) >= 0 && startOf(axis, highest_) <= axis.bins - 1 - axis.order) {
      doubt_ = static_cast<std::uint32_t>(units);
      surePart_ = 0u - 2 * doubt_;
    }
  }

  /// False: ask ParzenAxis. `t` is ParzenAxis::window's to 2^-24.
  TESSERA_HOST_DEVICE bool window(float intensity, int order, int& start, float& t) const
  {
    const auto bits = std::bit_cast<std::uint64_t>(fma(static_cast<double>(intensity), scale_, offset_));
    const auto fraction = static_cast<std::uint32_t>(bits); // of a bin, in units
    start = static_cast<int>(static_cast<std::uint32_t>(bits >> 32) - highOfMagic);
    t = static_cast<float>(fraction) * unit + 0.5f * static_cast<float>(order - 1);
    return intensity >= lowest_ && intensity <= highest_ && fraction - doubt_ < surePart_; // at least `doubt_` off the next bins
  }

private:
  // A double at this size has 32 bits below the binary point; bins from 0 to 4095 count up its upper word.
  static constexpr double magic = 1572864; // 1.5 * 2^20
  static constexpr std::uint32_t highOfMagic = std::bit_cast<std::uint64_t>(magic) >> 32;
  static constexpr float unit = 1.0f / 4294967296.0f;
  static constexpr std::uint32_t maximumDoubt = 1u << 31;

  static double startOf(const ParzenAxis& axis, double intensity)
  {
    return std::floor(intensity / axis.binSize - axis.normalizedMin + (0.5 - axis.order / 2.0));
  }
  static float roundedUp(double value)
  {
    const float nearest = static_cast<float>(value);
    return nearest >= value ? nearest : std::nextafter(nearest, std::numeric_limits<float>::infinity());
  }

  double scale_ = 1, offset_ = magic;
  float lowest_ = 0, highest_ = 0;
  std::uint32_t doubt_ = 0, surePart_ = 0; // never sure
};

/// First bins of the windows of a pair, and where in them it lies.
struct ParzenPlace {
  int row = 0, column = 0;
  float fixedT = 0, movingT = 0; // as bsplineWeights takes them
  float limiterDerivative = 1;
};

/// ParzenWindows in single precision, with the same bins.
struct ParzenLookup {
  ParzenWindows windows;
  QuickParzenAxis fixed, moving;

  ParzenLookup() = default;
  explicit ParzenLookup(const ParzenWindows& w)
      : windows(w), fixed(w.fixed, w.fixedLowerBound, w.fixedUpperBound),
        moving(w.moving, w.movingLimiter.lowerThreshold, w.movingLimiter.upperThreshold)
  {
  }

  /// False: ask `exact`. The orders are those of the windows, for the compiler to know.
  TESSERA_HOST_DEVICE bool quick(float fixedIntensity, float movingIntensity, int fixedOrder, int movingOrder,
                                 ParzenPlace& place) const
  {
    const bool fixedSure = fixed.window(fixedIntensity, fixedOrder, place.row, place.fixedT);
    const bool movingSure = moving.window(movingIntensity, movingOrder, place.column, place.movingT);
    place.limiterDerivative = 1;
    return fixedSure && movingSure;
  }

  TESSERA_HOST_DEVICE ParzenPlace exact(float fixedIntensity, float movingIntensity) const
  {
    ParzenPlace place;
    double t, derivative;
    place.row = windows.fixedStart(fixedIntensity, t);
    place.fixedT = static_cast<float>(t);
    place.column = windows.movingStart(movingIntensity, t, derivative);
    place.movingT = static_cast<float>(t);
    place.limiterDerivative = static_cast<float>(derivative);
    return place;
  }
};

/// The slope of one pair from differences of neighbouring columns' weights: the sum of derivatives times weights, as the derivative
/// of a B-spline is the difference of those one order lower. Order 0 takes the weights themselves.
template <int FixedOrder, int MovingOrder, class At>
TESSERA_HOST_DEVICE inline float parzenSlope(const ParzenPlace& place, const At& tableAt)
{
  constexpr int terms = MovingOrder == 0 ? 1 : MovingOrder;
  float fixedWeights[FixedOrder + 1], along[terms];
  bsplineWeights<FixedOrder, float>(place.fixedT, fixedWeights);
  if constexpr (MovingOrder == 0)
    along[0] = place.movingT > 0 ? -1.0f : place.movingT < 0 ? 1.0f : 0.0f;
  else
    bsplineWeights<MovingOrder - 1, float>(place.movingT - 0.5f, along);
  float sum = 0;
  for (int f = 0; f <= FixedOrder; ++f) {
    float ofRow = 0;
    for (int m = 0; m < terms; ++m)
      ofRow = fmaf(along[m], tableAt(place.row + f, place.column + m), ofRow);
    sum = fmaf(fixedWeights[f], ofRow, sum);
  }
  return sum * place.limiterDerivative;
}

}
