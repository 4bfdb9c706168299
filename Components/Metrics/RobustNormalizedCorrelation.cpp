#include "Components/Metrics/RobustNormalizedCorrelation.h"

#include "Components/Metrics/Shared/RobustCorrelationOnCuda.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Registration/Terms/ImageTerm.h"

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

const Parameter<double> outlierShare =
    realParameter("OutlierShare", 0.5, Arity::perLevel, "standard deviations",
                  "residuals much larger than this many standard deviations of the fixed intensities are "
                  "outliers, which count as this at most (Geman and McClure)")
        .atLeast(1e-2); // below, all residuals are outliers before the registration, and nothing moves

constexpr std::size_t lanes = 8; // pairs that a vector of doubles holds at most
constexpr std::size_t pairsOfChunk = std::size_t(1) << 14;

/// Pairs whose moving intensity is NaN do not count.
TESSERA_MULTIVERSION_TO_V4 void addPairs(const RobustLine& line, LineCurvature kind, const PairUnits& units,
                                         const float* fixed, const float* moving, std::size_t count,
                                         RobustLineSums& sums)
{
  constexpr std::size_t quantities = sizeof(RobustLineSums) / sizeof(double);
  double ofLanes[quantities][lanes] = {};
  for (std::size_t first = 0; first < count; first += lanes) {
    float f[lanes] = {}, m[lanes];
    const std::size_t here = std::min(lanes, count - first);
    std::fill_n(m, lanes, std::numeric_limits<float>::quiet_NaN());
    std::copy_n(fixed + first, here, f);
    std::copy_n(moving + first, here, m);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const bool isNumber = m[lane] == m[lane];
      const RobustLineSums terms = robustLineTerms(line, kind, units.fixed(isNumber ? f[lane] : 0),
                                                   units.moving(isNumber ? m[lane] : 0));
      const double factor = isNumber ? 1 : 0;
      ofLanes[0][lane] += factor * terms.pairs;
      ofLanes[1][lane] += factor * terms.loss;
      ofLanes[2][lane] += factor * terms.curvature;
      ofLanes[3][lane] += factor * terms.curvatureM;
      ofLanes[4][lane] += factor * terms.curvatureMM;
      ofLanes[5][lane] += factor * terms.pull;
      ofLanes[6][lane] += factor * terms.pullM;
    }
  }
  for (std::size_t lane = 0; lane < lanes; ++lane)
    sums.add({ofLanes[0][lane], ofLanes[1][lane], ofLanes[2][lane], ofLanes[3][lane], ofLanes[4][lane],
              ofLanes[5][lane], ofLanes[6][lane]});
}

TESSERA_MULTIVERSION_TO_V4 void writeSlopes(const RobustLine& line, const PairUnits& units,
                                            const float* fixed, const float* moving, std::size_t count,
                                            float* slopes)
{
  for (std::size_t i = 0; i < count; ++i) {
    const bool isNumber = moving[i] == moving[i];
    const double slope = slopeOfLine(line, units.fixed(fixed[i]), units.moving(isNumber ? moving[i] : 0));
    slopes[i] = isNumber ? static_cast<float>(slope * units.movingScale) : 0;
  }
}

RobustLineSums sumsOf(const Context& context, const RobustLine& line, LineCurvature kind,
                      const PairUnits& units, const float* fixed, const float* moving, std::size_t count)
{
  std::vector<RobustLineSums> sumsOfChunks((count + pairsOfChunk - 1) / pairsOfChunk);
  forEachRange(context, count, pairsOfChunk, [&](std::size_t first, std::size_t last) {
    addPairs(line, kind, units, fixed + first, moving + first, last - first,
             sumsOfChunks[first / pairsOfChunk]);
  });
  RobustLineSums all;
  for (const RobustLineSums& sumsOfChunk : sumsOfChunks)
    all.add(sumsOfChunk);
  return all;
}

}

RobustNormalizedCorrelation::RobustNormalizedCorrelation(const Parameters& parameters)
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    outlierShares_.push_back(parameters.get(outlierShare, level));
}

const ComponentDescription& RobustNormalizedCorrelation::description()
{
  static const ComponentDescription description{
      "Metric", "RobustNormalizedCorrelation",
      "one minus the squared correlation of the intensities, with a bound for outliers (Geman and McClure "
      "1987); for the samplers Full and Grid",
      joinedRows({{outlierShare}, imageTermParameters()})};
  return description;
}

std::unique_ptr<MetricOnCuda> RobustNormalizedCorrelation::onCuda(const Context& context, std::size_t) const
{
  const MemoryPart part(context, "metric");
  return std::make_unique<RobustCorrelationOnCuda>(context, search_, units_);
}

void RobustCorrelationOnCuda::begin(Context&) {}

double RobustNormalizedCorrelation::evaluate(const Context& context, const LatticeIntensities& images,
                                             float* slopes)
{
  const std::size_t stride = RobustLineSearch::strideOfPart(images.size), positions = images.positions();
  const float *fixed = images.fixed, *moving = images.moving;
  std::size_t pairsOfPart = positions;
  if (stride > 1) {
    pairsOfPart = (positions + stride - 1) / stride;
    fixedOfPart_.resize(pairsOfPart);
    movingOfPart_.resize(pairsOfPart);
    for (std::size_t i = 0; i < pairsOfPart; ++i) {
      fixedOfPart_[i] = images.fixed[i * stride];
      movingOfPart_[i] = images.moving[i * stride];
    }
    fixed = fixedOfPart_.data();
    moving = movingOfPart_.data();
  }
  RobustLine line;
  for (int step = 0; step < RobustLineSearch::stepsOfPart; ++step)
    search_.beginNext(
        line, sumsOf(context, line, LineCurvature::reweighted, units_, fixed, moving, pairsOfPart), step);
  const auto sumsOfAll = [&](LineCurvature kind) {
    return sumsOf(context, line, kind, units_, images.fixed, images.moving, positions);
  };
  advanceLine(line, sumsOfAll(LineCurvature::exact));
  const double value = finishLine(line, sumsOfAll(LineCurvature::exact));
  if (slopes)
    forEachRange(context, positions, pairsOfChunk, [&](std::size_t first, std::size_t last) {
      writeSlopes(line, units_, images.fixed + first, images.moving + first, last - first, slopes + first);
    });
  return value;
}

}
