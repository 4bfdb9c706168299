#pragma once

#include "Components/Metrics/Shared/Histograms/ParzenHistogram.h"
#include "Testing/Support/Checks/MetricChecks.h"

#include <cmath>
#include <vector>

namespace tessera::testing {

/// A joint histogram written out from the papers: every bin asks every sample.
struct NaiveParzen {
  int fixedBins = 32, movingBins = 32, fixedOrder = 0, movingOrder = 3;
  double fixedRatio = 0.01, movingRatio = 0.01;

  /// Centred cardinal B-spline by the recursion of Cox and de Boor.
  static double beta(int order, double x)
  {
    if (order == 0)
      return x > -0.5 && x <= 0.5 ? 1 : 0;
    return ((order + 1) / 2.0 + x) / order * beta(order - 1, x + 0.5)
           + ((order + 1) / 2.0 - x) / order * beta(order - 1, x - 0.5);
  }

  /// elastix divides the margin of both axes by the fixed axis's bins.
  double term(double value, double lowest, double highest, int bins, int order, double ratio) const
  {
    const double low = lowest - ratio * (highest - lowest), high = highest + ratio * (highest - lowest);
    const int padding = order / 2;
    const double margin = 0.001 * (high - low) / (fixedBins - 2 * padding - 1);
    const double size = (high - low + 2 * margin) / (bins - 2 * padding - 1);
    return value / size - ((low - margin) / size - padding);
  }

  std::vector<std::vector<double>> joint(const LevelFacts& facts, const Intensities& fixed,
                                         const Intensities& moving) const
  {
    std::vector<std::vector<double>> p(fixedBins, std::vector<double>(movingBins, 0.0));
    for (std::size_t i = 0; i < fixed.size(); ++i) {
      const double f = term(fixed[i], facts.fixedMin, facts.fixedMax, fixedBins, fixedOrder, fixedRatio);
      const double m =
          term(moving[i], facts.movingMin, facts.movingMax, movingBins, movingOrder, movingRatio);
      for (int row = 0; row < fixedBins; ++row)
        for (int column = 0; column < movingBins; ++column)
          p[row][column] +=
              beta(fixedOrder, row - f) * beta(movingOrder, column - m) / static_cast<double>(fixed.size());
    }
    return p;
  }

  struct Entropies {
    double fixed = 0, moving = 0, joint = 0;
  };

  Entropies entropies(const LevelFacts& facts, const Intensities& fixed, const Intensities& moving) const
  {
    const auto p = joint(facts, fixed, moving);
    const auto part = [](double probability) {
      return probability > 0 ? -probability * std::log(probability) : 0;
    };
    Entropies h;
    std::vector<double> columns(movingBins, 0.0);
    for (const auto& row : p) {
      double sum = 0;
      for (int column = 0; column < movingBins; ++column) {
        sum += row[column];
        columns[column] += row[column];
        h.joint += part(row[column]);
      }
      h.fixed += part(sum);
    }
    for (const double column : columns)
      h.moving += part(column);
    return h;
  }

  std::string text() const
  {
    const auto line = [](const char* name, double value) {
      return "(" + std::string(name) + " " + std::to_string(value) + ")\n";
    };
    return line("NumberOfFixedHistogramBins", fixedBins) + line("NumberOfMovingHistogramBins", movingBins)
           + line("FixedKernelBSplineOrder", fixedOrder) + line("MovingKernelBSplineOrder", movingOrder)
           + line("FixedLimitRangeRatio", fixedRatio) + line("MovingLimitRangeRatio", movingRatio);
  }
};

inline ParzenHistogram histogram(const NaiveParzen& like, const LevelFacts& facts)
{
  return ParzenHistogram(parametersOf(like.text(), 3, 1, "Metric0"), 0, facts);
}

/// Intensities all over the range and beyond, and those next to the edges of bins.
inline Intensities awkwardIntensities(const ParzenAxis& axis, double low, double high, std::uint64_t seed)
{
  const double margin = 0.02 * (high - low);
  Intensities values = randomIntensities(20000, seed, low - margin, high + margin);
  for (int edge = -1; edge <= 2 * axis.bins; ++edge) {
    const auto at = static_cast<float>((edge / 2.0 + axis.normalizedMin) * axis.binSize);
    for (const float value : {at, std::nextafter(at, -1e30f), std::nextafter(at, 1e30f)})
      values.push_back(value);
  }
  for (const double value : {low, high, 0.0, 1e30, -1e30})
    values.push_back(static_cast<float>(value));
  return values;
}

/// One pair of intensities in a joint histogram, without vectors: what ParzenHistogram does for many.
struct PairInHistogram {
  int fixedOrder, movingOrder, columns;
  std::size_t first; // bin of the window's corner
  double fixedWeights[4] = {1}, movingWeights[4] = {1}, derivatives[4], limiterDerivative;

  PairInHistogram(const ParzenWindows& windows, float fixed, float moving)
      : fixedOrder(windows.fixed.order), movingOrder(windows.moving.order), columns(windows.moving.bins)
  {
    double fixedT, movingT;
    const int row = windows.fixedStart(fixed, fixedT);
    first = static_cast<std::size_t>(row) * columns + windows.movingStart(moving, movingT, limiterDerivative);
    weigh(fixedOrder, fixedT, fixedWeights);
    weigh(movingOrder, movingT, movingWeights);
    parzenDerivatives(movingOrder, movingT, derivatives);
  }

  void addTo(std::vector<std::int64_t>& counts) const
  {
    for (int f = 0; f <= fixedOrder; ++f)
      for (int m = 0; m <= movingOrder; ++m)
        counts[first + f * columns + m] += ParzenWindows::fixedPoint(fixedWeights[f], movingWeights[m]);
  }
  float slope(const ParzenHistogram::Table& table) const
  {
    double sum = 0;
    for (int f = 0; f <= fixedOrder; ++f) {
      double ofRow = 0;
      for (int m = 0; m <= movingOrder; ++m)
        ofRow += derivatives[m] * table.weights[first + f * columns + m];
      sum += fixedWeights[f] * ofRow;
    }
    return static_cast<float>(sum * limiterDerivative * table.perSample);
  }

private:
  static void weigh(int order, double t, double* weights)
  {
    if (order == 1)
      bsplineWeights<1>(t, weights);
    else if (order == 2)
      bsplineWeights<2>(t, weights);
    else if (order == 3)
      bsplineWeights<3>(t, weights);
  }
};

}
