#pragma once

#include "Core/Compute/Math/BSplineKernel.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tessera {

/// The bins of one intensity axis, with a B-spline Parzen window of order 0 to 3 (Mattes et al., "PET-CT
/// image registration in the chest using free-form deformations", 2003, eq. 6). Padding and bin size are
/// those of elastix.
struct ParzenAxis {
  int bins = 32, order = 0;
  double binSize = 1, normalizedMin = 0;

  /// An intensity as a place on the axis, counted in bins.
  TESSERA_HOST_DEVICE double inBins(double intensity) const { return intensity / binSize - normalizedMin; }
  /// Rounded down, it is the first of the order + 1 bins that a place contributes to.
  TESSERA_HOST_DEVICE double windowBegin(double place) const { return place + (0.5 - order / 2.0); }

  /// The first of the order + 1 bins that an intensity contributes to. `t` is its distance from that bin, the
  /// argument of bsplineWeights.
  TESSERA_HOST_DEVICE int window(double intensity, double& t) const
  {
    const double place = inBins(intensity), start = std::floor(windowBegin(place));
    t = place - start;
    if (start >= 0 && start <= bins - 1 - order)
      return static_cast<int>(start);
    t = order / 2.0; // an image with one intensity, whose bins are smaller than its rounding
    return start < 0 ? 0 : bins - 1 - order;
  }
};

/// elastix's exponential limiter. It keeps intensities between the thresholds, and moves those beyond them
/// towards the bounds, which they never reach.
struct SoftLimiter {
  double lowerThreshold = 0, upperThreshold = 1, lowerBound = 0, upperBound = 1;

  /// Whether the limiter changes this intensity.
  TESSERA_HOST_DEVICE bool bends(double intensity) const
  {
    return (intensity - upperThreshold > 1e-10) | (intensity - lowerThreshold < -1e-10);
  }

  /// The limited intensity; `derivative` receives d result / d intensity.
  TESSERA_HOST_DEVICE double operator()(double intensity, double& derivative) const
  {
    derivative = 1;
    if (intensity - upperThreshold > 1e-10)
      return bend(intensity - upperThreshold, upperThreshold - upperBound, upperBound, derivative);
    if (intensity - lowerThreshold < -1e-10)
      return bend(intensity - lowerThreshold, lowerThreshold - lowerBound, lowerBound, derivative);
    return intensity;
  }

private:
  TESSERA_HOST_DEVICE static double bend(double beyond, double room, double bound, double& derivative)
  {
    if (std::abs(room) <= 1e-10) { // without room it is a hard limit
      derivative = 0;
      return bound;
    }
    derivative = std::exp(beyond / room);
    return room * derivative + bound;
  }
};

/// The derivatives of the weights of the order + 1 bins of a window. A spline of order 0 has none; like
/// elastix we use that of order 1, which is a finite difference.
TESSERA_HOST_DEVICE inline void parzenDerivatives(int order, double t, double* derivatives)
{
  switch (order) {
  case 0:
    derivatives[0] = t > 0 ? -1 : t < 0 ? 1 : 0;
    return;
  case 1:
    return bsplineDerivatives<1>(t, derivatives);
  case 2:
    return bsplineDerivatives<2>(t, derivatives);
  default:
    return bsplineDerivatives<3>(t, derivatives);
  }
}

/// The place of a pair of intensities in the joint histogram, and its contribution there.
struct ParzenWindows {
  static constexpr double countScale = 4294967296.0; // 2^32, so that 2^31 samples fit in one bin

  ParzenAxis fixed, moving;
  double fixedLowerBound = 0, fixedUpperBound = 0;
  SoftLimiter movingLimiter;

  TESSERA_HOST_DEVICE double limitedFixed(float intensity) const
  {
    return std::min(std::max<double>(intensity, fixedLowerBound), fixedUpperBound);
  }
  TESSERA_HOST_DEVICE int fixedStart(float intensity, double& t) const
  {
    return fixed.window(limitedFixed(intensity), t);
  }
  TESSERA_HOST_DEVICE int movingStart(float intensity, double& t, double& limiterDerivative) const
  {
    return moving.window(movingLimiter(intensity, limiterDerivative), t);
  }

  TESSERA_HOST_DEVICE static std::int64_t fixedPoint(double fixedWeight, double movingWeight)
  {
    return static_cast<std::int64_t>(fixedWeight * countScale * movingWeight + 0.5);
  }
};

}
