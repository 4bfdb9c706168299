#include "Components/Metrics/AdvancedMeanSquares.h"

#include "Components/Metrics/Shared/SumsOnCuda.h"
#include "Core/Parameters/ParameterText.h"
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
                  "differences much larger than this are outliers, which count as this at most (Geman and "
                  "McClure); 0: none are")
        .atLeast(0);

const Parameter<std::string> intensityBoundUnit =
    textParameter("IntensityBoundUnit", "Absolute", Arity::single,
                  "the unit of OutlierDifference: intensities, or the range of the fixed image at the level",
                  {"Absolute", "FixedImageRange"});

}

AdvancedMeanSquares::AdvancedMeanSquares(const Parameters& parameters, std::size_t level,
                                         const LevelFacts& facts)
{
  const double outlier = parameters.get(outlierDifference, level), range = facts.fixedMax - facts.fixedMin;
  const bool isShare = parameters.get(intensityBoundUnit) == "FixedImageRange";
  if (const double bound = isShare ? outlier * range : outlier; bound > 0)
    inverseOutlier_ = 1 / bound;
  if (!isShare && range > 0 && outlier > range
      && (level == 0 || parameters.get(outlierDifference, level - 1) <= range))
    parameters.warn(parameters.where(outlierDifference.name) + ": level " + std::to_string(level) + ": "
                    + realText(outlier) + " exceeds the range of the fixed image, " + realText(range)
                    + ": no difference is an outlier, and beside weights that suit such a bound the images "
                      "may not move. (IntensityBoundUnit \"FixedImageRange\") takes the bound as a share of "
                      "the range, (UseNormalization \"true\") fits the weights to it.");
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
      "Metric", "AdvancedMeanSquares", "mean of squared intensity differences (MSD; SSD is their sum)",
      joinedRows({{useNormalization, outlierDifference, intensityBoundUnit}, imageTermParameters()})};
  return description;
}

std::unique_ptr<MetricOnCuda> AdvancedMeanSquares::onCuda(const Context& context) const
{
  return std::make_unique<SumsOnCuda<AdvancedMeanSquares>>(context, *this);
}

}
