#pragma once

#include "Components/Metrics/Shared/IntensityUnit.h"
#include "Core/Compute/HostDevice.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace tessera {

/// Turns the intensities of pairs into the units of their images.
struct PairUnits {
  double fixedMiddle = 0, fixedScale = 0, movingMiddle = 0, movingScale = 0;

  PairUnits() = default;
  PairUnits(const IntensityUnit& ofFixed, const IntensityUnit& ofMoving)
      : fixedMiddle(ofFixed.middle), fixedScale(ofFixed.scale), movingMiddle(ofMoving.middle),
        movingScale(ofMoving.scale)
  {
  }

  TESSERA_HOST_DEVICE double fixed(float intensity) const { return (intensity - fixedMiddle) * fixedScale; }
  TESSERA_HOST_DEVICE double moving(float intensity) const
  {
    return (intensity - movingMiddle) * movingScale;
  }
};

/// The line that predicts fixed intensities from moving ones, f = gain m + offset, so that outliers draw it
/// aside by little: the least sum of r^2 / (1 + r^2 / S^2), r the residuals (Geman and McClure, "Statistical
/// methods for tomographic image reconstruction", 1987).
struct RobustLine {
  double gain = 0, offset = 0;
  double inverseOutlier = 0; // 1 / S; 0: least squares
  double variance = 0;       // that of the fixed intensities which the line was begun with
  double lossFactor = 0;     // 1 / (pairs * variance), or 0 if there is no contrast
};

/// Sums over pairs of intensities for one step towards the line.
struct RobustLineSums {
  double pairs = 0, loss = 0;
  double curvature = 0, curvatureM = 0, curvatureMM = 0; // the loss' by offset and gain, halved
  double pull = 0, pullM = 0;                            // minus its derivatives by offset and gain, halved

  TESSERA_HOST_DEVICE void add(const RobustLineSums& others)
  {
    pairs += others.pairs;
    loss += others.loss;
    curvature += others.curvature;
    curvatureM += others.curvatureM;
    curvatureMM += others.curvatureMM;
    pull += others.pull;
    pullM += others.pullM;
  }
};

/// A step's curvature is that of reweighted least squares, which always leads downhill, or exact, for
/// Newton's method beside the minimum.
enum class LineCurvature { reweighted, exact };

/// The residual's weight, the derivative of its loss by its square: 1 / (1 + r^2 / S^2)^2.
TESSERA_HOST_DEVICE inline double residualWeight(const RobustLine& line, double residual)
{
  const double ratio = residual * line.inverseOutlier, share = 1 / (1 + ratio * ratio);
  return share * share;
}

/// Returns the terms that one pair adds to the sums.
TESSERA_HOST_DEVICE inline RobustLineSums robustLineTerms(const RobustLine& line, LineCurvature kind,
                                                          double fixed, double moving)
{
  const double residual = fixed - (line.gain * moving + line.offset), ratio = residual * line.inverseOutlier,
               squared = ratio * ratio, share = 1 / (1 + squared), weight = share * share,
               curvature = kind == LineCurvature::exact ? weight * share * (1 - 3 * squared) : weight;
  return {1,
          residual * residual * share,
          curvature,
          curvature * moving,
          curvature * moving * moving,
          weight * residual,
          weight * residual * moving};
}

/// Moves the line to where these sums put it. A line that they do not determine stays.
TESSERA_HOST_DEVICE inline void advanceLine(RobustLine& line, const RobustLineSums& sums)
{
  const double determinant = sums.curvature * sums.curvatureMM - sums.curvatureM * sums.curvatureM;
  if (!(sums.curvature > 0) || !(determinant > 1e-12 * sums.curvature * sums.curvatureMM))
    return;
  line.gain += (sums.curvature * sums.pullM - sums.curvatureM * sums.pull) / determinant;
  line.offset += (sums.curvatureMM * sums.pull - sums.curvatureM * sums.pullM) / determinant;
}

/// The search for the line. A part of the pairs leads from least squares to the line of that part, with an S
/// that shrinks to its final size. One step of Newton's method with all pairs ends it: what is left of the
/// difference between the two lines is its square.
struct RobustLineSearch {
  static constexpr std::size_t pairsOfPart = std::size_t(1) << 17;
  static constexpr int stepsOfPart = 12; // the first is least squares

  double outlierShare = 0; // S in standard deviations of the fixed intensities

  /// The line before a step with a part of the pairs, after the sums of the step before.
  TESSERA_HOST_DEVICE void beginNext(RobustLine& line, const RobustLineSums& sums, int stepDone) const
  {
    if (stepDone == 0) { // the line was 0, so residuals were fixed intensities
      const double mean = sums.pairs > 0 ? sums.pull / sums.pairs : 0;
      line.variance = sums.pairs > 0 ? sums.loss / sums.pairs - mean * mean : 0;
      if (line.variance < 1e-12)
        line.variance = 0;
      line.offset = mean; // stays if the moving intensities are all the same
      advanceLine(line, {sums.pairs, 0, sums.curvature, sums.curvatureM, sums.curvatureMM, 0,
                         sums.pullM - mean * sums.curvatureM});
    } else
      advanceLine(line, sums);
    const double wider = stepDone == 0 ? 4 : stepDone == 1 ? 2 : 1;
    line.inverseOutlier = line.variance > 0 ? 1 / (wider * outlierShare * std::sqrt(line.variance)) : 0;
  }

  /// Every so-manieth pair belongs to the part; the number shares no factor with rows and slices.
  static std::size_t strideOfPart(const std::array<std::size_t, 3>& size)
  {
    const std::size_t slice = size[0] * size[1], all = slice * size[2];
    std::size_t stride = (all + pairsOfPart - 1) / pairsOfPart;
    while (stride > 1 && std::gcd(stride, slice) != 1)
      ++stride;
    return stride == 0 ? 1 : stride;
  }
};

/// The value of the metric at the end of the search, from the sums over all pairs.
TESSERA_HOST_DEVICE inline double finishLine(RobustLine& line, const RobustLineSums& sums)
{
  line.lossFactor = line.variance > 0 && sums.pairs > 0 ? 1 / (sums.pairs * line.variance) : 0;
  return line.lossFactor > 0 ? sums.loss * line.lossFactor : 1;
}

/// d value / d moving intensity, in the units of the line.
TESSERA_HOST_DEVICE inline double slopeOfLine(const RobustLine& line, double fixed, double moving)
{
  const double residual = fixed - (line.gain * moving + line.offset);
  return -2 * line.lossFactor * line.gain * residual * residualWeight(line, residual);
}

}
