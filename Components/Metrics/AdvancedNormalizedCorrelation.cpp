#include "Components/Metrics/AdvancedNormalizedCorrelation.h"

#include "Core/Registration/ImageTerm.h"

#include <cmath>

namespace tessera {
namespace {

const Parameter<bool>& subtractMean()
{
  static const auto p = booleanParameter("SubtractMean", true, Arity::perLevel, "take means off the intensities first");
  return p;
}

}

AdvancedNormalizedCorrelation::AdvancedNormalizedCorrelation(const Parameters& parameters, std::size_t level, const LevelFacts&)
    : subtractMean_(parameters.get(subtractMean(), level))
{
}

const ComponentDescription& AdvancedNormalizedCorrelation::description()
{
  static const ComponentDescription description = [] {
    ComponentDescription d{
        "Metric", "AdvancedNormalizedCorrelation", {}, "minus the correlation coefficient of the intensities", {subtractMean()}};
    const auto common = imageTermParameters();
    d.parameters.insert(d.parameters.end(), common.begin(), common.end());
    return d;
  }();
  return description;
}

AdvancedNormalizedCorrelation::Table AdvancedNormalizedCorrelation::finish(const Sums& sums, std::size_t valid) const
{
  Table table;
  double ff = sums.ff, mm = sums.mm, fm = sums.fm;
  if (subtractMean_ && valid > 0) {
    table.fixedMean = sums.f / static_cast<double>(valid);
    table.movingMean = sums.m / static_cast<double>(valid);
    ff -= sums.f * table.fixedMean;
    mm -= sums.m * table.movingMean;
    fm -= sums.f * table.movingMean;
  }
  const double denominator = std::sqrt(ff * mm);
  if (!(denominator > 1e-14)) // an image without contrast: no value, no slope
    return table;
  table.value = -fm / denominator;
  table.ratio = fm / mm;
  table.factor = -1 / denominator;
  return table;
}

std::unique_ptr<MetricOnCuda> AdvancedNormalizedCorrelation::onCuda(const Context&) const
{
  return nullptr;
}

}
