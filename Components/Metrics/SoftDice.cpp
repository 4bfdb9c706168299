#include "Components/Metrics/SoftDice.h"

#include "Components/Metrics/Shared/SumsOnCuda.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/Terms/ImageTerm.h"

#include <algorithm>

namespace tessera {
namespace {

const Parameter<double> foregroundValue =
    realParameter("ForegroundValue", 1, Arity::perLevel, "intensity",
                  "intensity of the label in both images; the background is 0")
        .atLeast(aboveZero);

}

SoftDice::SoftDice(const Parameters& parameters, std::size_t level, const LevelFacts& facts)
    : foregroundValue_(parameters.get(foregroundValue, level))
{
  const double tolerance = 0.01 * foregroundValue_; // smoothing may overshoot by less
  const double lowest = std::min(facts.fixedMin, facts.movingMin),
               highest = std::max(facts.fixedMax, facts.movingMax);
  if (lowest < -tolerance || highest > foregroundValue_ + tolerance)
    parameters.fail("ForegroundValue",
                    "SoftDice: the intensities of the images reach from " + realText(lowest) + " to "
                        + realText(highest),
                    "Allowed: images of one label, with intensities from 0 to ForegroundValue ("
                        + realText(foregroundValue_) + ").");
}

const ComponentDescription& SoftDice::description()
{
  static const ComponentDescription description{
      "Metric", "SoftDice",
      "1 minus the Dice overlap of two images of one label, in which interpolated intensities count in part "
      "(Drozdzal et al. 2016)",
      joinedRows({{foregroundValue}, imageTermParameters()})};
  return description;
}

std::unique_ptr<MetricOnCuda> SoftDice::onCuda(const Context& context) const
{
  return std::make_unique<SumsOnCuda<SoftDice>>(context, *this);
}

}
