#pragma once

#include "Components/Metrics/Shared/Histograms/ParzenWindows.h"

#include <bit>
#include <limits>

namespace tessera {

/// ParzenAxis::window by one fused multiply-add and no division, for intensities that the limiter does not
/// change. It finds the same bin, or reports that it is not sure.
class QuickParzenAxis {
public:
  QuickParzenAxis() = default;
  /// A limiter changes intensities below `lowest` and above `highest`.
  QuickParzenAxis(const ParzenAxis& axis, double lowest, double highest)
      : scale_(1 / axis.binSize), offset_(0.5 - axis.order / 2.0 - axis.normalizedMin + magic),
        lowest_(roundedUp(lowest)), highest_(-roundedUp(-highest))
  {
    // In units of 2^-32 bin: the offset and the sum have an error of half a unit each. Each operation, here
    // and in ParzenAxis::window, has an error of 2^-53 of its terms. 2^-49 of the largest term bounds these
    // generously.
    const double units = 4 + std::ldexp(std::abs(axis.normalizedMin) + axis.bins, 32 - 49);
    if (units < maximumDoubt && startOf(axis, lowest_) >= 0
        && startOf(axis, highest_) <= axis.bins - 1 - axis.order) {
      doubt_ = static_cast<std::uint32_t>(units);
      surePart_ = 0u - 2 * doubt_;
    }
  }

  /// Returns false if it is not sure; then ask ParzenAxis. `t` agrees with ParzenAxis::window to 2^-24.
  TESSERA_HOST_DEVICE bool window(float intensity, int order, int& start, float& t) const
  {
    const auto bits = std::bit_cast<std::uint64_t>(fma(static_cast<double>(intensity), scale_, offset_));
    const auto fraction = static_cast<std::uint32_t>(bits); // fraction of a bin, in units
    start = static_cast<int>(static_cast<std::uint32_t>(bits >> 32) - highOfMagic);
    t = fmaf(static_cast<float>(fraction), unit, 0.5f * static_cast<float>(order - 1));
    return intensity >= lowest_ && intensity <= highest_
           && fraction - doubt_ < surePart_; // at least `doubt_` units away from the next bins
  }

private:
  // A double of this size has 32 bits below the binary point, and its upper word counts bins from 0 to 4095.
  static constexpr double magic = 1572864; // 1.5 * 2^20
  static constexpr std::uint32_t highOfMagic = std::bit_cast<std::uint64_t>(magic) >> 32;
  static constexpr float unit = 1.0f / 4294967296.0f;
  static constexpr std::uint32_t maximumDoubt = 1u << 31;

  static double startOf(const ParzenAxis& axis, double intensity)
  {
    return std::floor(axis.windowBegin(axis.inBins(intensity)));
  }
  static float roundedUp(double value)
  {
    const float nearest = static_cast<float>(value);
    return nearest >= value ? nearest : std::nextafter(nearest, std::numeric_limits<float>::infinity());
  }

  double scale_ = 1, offset_ = magic;
  float lowest_ = 0, highest_ = 0;
  std::uint32_t doubt_ = 0, surePart_ = 0; // with these values it is never sure
};

/// The first bins of the windows of a pair, and its place in them.
struct ParzenPlace {
  int row = 0, column = 0;
  float fixedT = 0, movingT = 0; // arguments of bsplineWeights
  float limiterDerivative = 1;
};

/// ParzenWindows in single precision, which finds the same bins.
struct ParzenLookup {
  ParzenWindows windows;
  QuickParzenAxis fixed, moving;

  ParzenLookup() = default;
  explicit ParzenLookup(const ParzenWindows& w)
      : windows(w), fixed(w.fixed, w.fixedLowerBound, w.fixedUpperBound),
        moving(w.moving, w.movingLimiter.lowerThreshold, w.movingLimiter.upperThreshold)
  {
  }

  /// Returns false if it is not sure; then ask `careful`. The orders are those of the windows; as arguments
  /// they are constants for the compiler.
  TESSERA_HOST_DEVICE bool quick(float fixedIntensity, float movingIntensity, int fixedOrder, int movingOrder,
                                 ParzenPlace& place) const
  {
    const bool fixedSure = fixed.window(fixedIntensity, fixedOrder, place.row, place.fixedT);
    const bool movingSure = moving.window(movingIntensity, movingOrder, place.column, place.movingT);
    place.limiterDerivative = 1;
    return fixedSure && movingSure;
  }

  /// Uses `quick` on each axis separately where it is sure, and the exact computation otherwise.
  TESSERA_HOST_DEVICE ParzenPlace careful(float fixedIntensity, float movingIntensity, int fixedOrder,
                                          int movingOrder) const
  {
    ParzenPlace place;
    if (!fixed.window(fixedIntensity, fixedOrder, place.row, place.fixedT))
      findRow(fixedIntensity, place);
    if (!moving.window(movingIntensity, movingOrder, place.column, place.movingT))
      findColumn(movingIntensity, place);
    return place;
  }

  TESSERA_HOST_DEVICE ParzenPlace exact(float fixedIntensity, float movingIntensity) const
  {
    ParzenPlace place;
    findRow(fixedIntensity, place);
    findColumn(movingIntensity, place);
    return place;
  }

  /// A sample counts if neither intensity is NaN.
  TESSERA_HOST_DEVICE bool counts(float fixedIntensity, float movingIntensity) const
  {
    return fixedIntensity == fixedIntensity && movingIntensity == movingIntensity;
  }

private:
  TESSERA_HOST_DEVICE void findRow(float intensity, ParzenPlace& place) const
  {
    double t;
    place.row = windows.fixedStart(intensity, t);
    place.fixedT = static_cast<float>(t);
  }

  TESSERA_HOST_DEVICE void findColumn(float intensity, ParzenPlace& place) const
  {
    double t, derivative;
    place.column = windows.movingStart(intensity, t, derivative);
    place.movingT = static_cast<float>(t);
    place.limiterDerivative = static_cast<float>(derivative);
  }
};

/// bsplineWeights<3> with fewer operations, to the same bits. A fused multiply-add rounds as the separate
/// operations do, because for t in [1, 2] all differences from whole numbers are exact in single precision.
TESSERA_HOST_DEVICE inline void fusedCubicWeights(float t, float* w)
{
  const float u = t - 1, v = 2 - t;
  const float u2 = u * u, v2 = v * v;
  w[0] = v2 * v * (1.0f / 6);
  w[1] = fmaf(u2 * (3 - t), -0.5f, 2.0f / 3);
  w[2] = fmaf(v2 * t, -0.5f, 2.0f / 3);
  w[3] = u2 * u * (1.0f / 6);
}

/// weight * 2^bits, rounded to a whole number, in one multiplication by shareScale(bits). The product is a
/// denormal float, whose bits count multiples of 2^-149. The weight must be at most 1.
TESSERA_HOST_DEVICE inline unsigned wholeShare(float weight, float scale)
{
  return std::bit_cast<unsigned>(weight * scale);
}

/// The factor 2^(bits - 149); bits <= 22.
TESSERA_HOST_DEVICE inline float shareScale(int bits)
{
  return std::bit_cast<float>(1u << bits);
}

/// The slope of one pair, the sum over its window of weight derivatives times d value / d probability. The
/// derivative of a B-spline is the difference of two splines one order lower, so the sum runs over
/// differences of neighbouring columns. Order 0 takes the columns themselves.
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
