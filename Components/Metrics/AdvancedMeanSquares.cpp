#include "Components/Metrics/AdvancedMeanSquares.h"

#include "Components/Metrics/Shared/SumsOnCuda.h"
#include "Core/Registration/Terms/ImageTerm.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

const Parameter<bool> useNormalization =
    booleanParameter("UseNormalization", false, Arity::perLevel,
                     "divide by the square of a tenth of the largest possible difference");

const Parameter<double> outlierDifference =
    realParameter("OutlierDifference", 0, Arity::perLevel, "intensity",
                  "differences much larger than this are outliers, which count as this at most "
                  "(Geman and McClure); 0: none are")
        .atLeast(0);

}

AdvancedMeanSquares::AdvancedMeanSquares(const Parameters& parameters, std::size_t level,
                                         const LevelFacts& facts)
{
  if (const double outlier = parameters.get(outlierDifference, level); outlier > 0)
    inverseOutlier_ = 1 / outlier;
  if (!parameters.get(useNormalization, level))
    return;
  const double largest =
      std::max(std::abs(facts.fixedMax - facts.movingMin), std::abs(facts.movingMax - facts.fixedMin));
  if (largest > 1e-10)
    normalization_ = 100 / (largest * largest);
}

const ComponentDescription& AdvancedMeanSquares::description()
{
  static const ComponentDescription description{
      "Metric", "AdvancedMeanSquares", "mean of squared intensity differences",
      joinedRows({{useNormalization, outlierDifference}, imageTermParameters()})};
  return description;
}

std::unique_ptr<MetricOnCuda> AdvancedMeanSquares::onCuda(const Context& context, std::size_t) const
{
  return std::make_unique<SumsOnCuda<AdvancedMeanSquares>>(context, *this);
}

}
