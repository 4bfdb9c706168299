#include "Components/Metrics/Shared/Histograms/ParzenHistogram.h"

#include <algorithm>

namespace tessera {
namespace {

const Parameter<std::int64_t> numberOfHistogramBins =
    integerParameter("NumberOfHistogramBins", 32, 1, Arity::perLevel, "bins", "size of the joint histogram");

const Parameter<std::int64_t> numberOfFixedHistogramBins =
    integerParameter("NumberOfFixedHistogramBins", 32, 1, Arity::perLevel, "bins",
                     "for the fixed image; NumberOfHistogramBins if absent");

const Parameter<std::int64_t> numberOfMovingHistogramBins =
    integerParameter("NumberOfMovingHistogramBins", 32, 1, Arity::perLevel, "bins",
                     "for the moving image; NumberOfHistogramBins if absent");

Parameter<double> limitRangeRatio(const std::string& side)
{
  return realParameter(side + "LimitRangeRatio", 0.01, Arity::perLevel, "",
                       "the histogram reaches beyond the image's intensities by this share of their range");
}

Parameter<std::int64_t> kernelOrder(const std::string& side, std::int64_t order)
{
  return integerParameter(side + "KernelBSplineOrder", order, 0, Arity::perLevel, "",
                          "order of the Parzen window")
      .atMost(3);
}

const Parameter<double> fixedLimitRangeRatio = limitRangeRatio("Fixed");

const Parameter<double> movingLimitRangeRatio = limitRangeRatio("Moving");

const Parameter<std::int64_t> fixedKernelBSplineOrder = kernelOrder("Fixed", 0);

const Parameter<std::int64_t> movingKernelBSplineOrder = kernelOrder("Moving", 3);

int readBins(const Parameters& parameters, Parameter<std::int64_t> bins, std::size_t level, int order)
{
  constexpr std::int64_t most = 4096;
  bins.defaultValue = parameters.get(numberOfHistogramBins, level);
  const std::int64_t value = parameters.get(bins, level);
  const std::int64_t least = 2 * (order / 2) + 2;
  if (value < least || value > most)
    parameters.fail(parameters.has(bins.name) ? bins.name : numberOfHistogramBins.name,
                    std::to_string(value) + " bins with a Parzen window of order " + std::to_string(order),
                    "Allowed: " + std::to_string(least) + " to " + std::to_string(most) + " bins");
  return static_cast<int>(value);
}

/// elastix divides the margin of both axes by the fixed image's number of bins, `binsOfMargin`. Its bins have
/// a size of 1e-10 to 1e10, whatever the range; here they follow the range.
ParzenAxis makeAxis(int bins, int order, int binsOfMargin, double lowest, double highest)
{
  const int padding = order / 2;
  const double margin = 0.001 * (highest - lowest) / std::max(1, binsOfMargin - 2 * padding - 1);
  const double binSize = (highest - lowest + 2 * margin) / (bins - 2 * padding - 1);
  ParzenAxis axis{bins, order, binSize > 0 ? binSize : 1e-10, 0};
  axis.normalizedMin = (lowest - margin) / axis.binSize - padding;
  return axis;
}

}

ParzenHistogram::ParzenHistogram(const Parameters& parameters, std::size_t level, const LevelFacts& facts)
{
  const int fixedOrder = static_cast<int>(parameters.get(fixedKernelBSplineOrder, level));
  const int movingOrder = static_cast<int>(parameters.get(movingKernelBSplineOrder, level));
  const int fixedBins = readBins(parameters, numberOfFixedHistogramBins, level, fixedOrder);
  const int movingBins = readBins(parameters, numberOfMovingHistogramBins, level, movingOrder);

  const double fixedRoom = parameters.get(fixedLimitRangeRatio, level) * (facts.fixedMax - facts.fixedMin);
  const double movingRoom =
      parameters.get(movingLimitRangeRatio, level) * (facts.movingMax - facts.movingMin);
  windows_.fixedLowerBound = facts.fixedMin - fixedRoom;
  windows_.fixedUpperBound = facts.fixedMax + fixedRoom;
  windows_.movingLimiter = {facts.movingMin, facts.movingMax, facts.movingMin - movingRoom,
                            facts.movingMax + movingRoom};

  windows_.fixed =
      makeAxis(fixedBins, fixedOrder, fixedBins, windows_.fixedLowerBound, windows_.fixedUpperBound);
  windows_.moving = makeAxis(movingBins, movingOrder, fixedBins, windows_.movingLimiter.lowerBound,
                             windows_.movingLimiter.upperBound);
}

std::vector<ParameterInfo> ParzenHistogram::parameters()
{
  return {numberOfHistogramBins,   numberOfFixedHistogramBins, numberOfMovingHistogramBins,
          fixedLimitRangeRatio,    movingLimitRangeRatio,      fixedKernelBSplineOrder,
          movingKernelBSplineOrder};
}

ParzenHistogram::Densities ParzenHistogram::densities(const Sums& sums, std::size_t valid) const
{
  const std::size_t rows = static_cast<std::size_t>(windows_.fixed.bins),
                    columns = static_cast<std::size_t>(windows_.moving.bins);
  Densities p{std::vector<double>(rows * columns), std::vector<double>(rows), std::vector<double>(columns)};
  const double perCount = valid == 0 ? 0 : 1 / (ParzenWindows::countScale * static_cast<double>(valid));
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      const double joint = static_cast<double>(sums.counts[row * columns + column]) * perCount;
      p.joint[row * columns + column] = joint;
      p.fixed[row] += joint;
      p.moving[column] += joint;
    }
  return p;
}

}
