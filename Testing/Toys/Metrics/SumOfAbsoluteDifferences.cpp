#include "Testing/Toys/Metrics/SumOfAbsoluteDifferences.h"

#include "Components/Metrics/Shared/SumsOnCuda.h"
#include "Core/Registration/Terms/ImageTerm.h"

namespace tessera {
namespace {

const Parameter<double>& intensityTolerance()
{
  static const auto p = realParameter("IntensityTolerance", 0, Arity::perLevel, "intensity",
                                      "differences up to this add nothing");
  return p;
}

}

SumOfAbsoluteDifferences::SumOfAbsoluteDifferences(const Parameters& parameters, std::size_t level,
                                                   const LevelFacts&)
    : tolerance_(parameters.get(intensityTolerance(), level))
{
}

const ComponentDescription& SumOfAbsoluteDifferences::description()
{
  static const ComponentDescription description{"Metric", "SumOfAbsoluteDifferences",
                                                "sum of absolute intensity differences",
                                                joinedRows({{intensityTolerance()}, imageTermParameters()})};
  return description;
}

std::unique_ptr<MetricOnCuda> SumOfAbsoluteDifferences::onCuda(const Context& context) const
{
  return std::make_unique<SumsOnCuda<SumOfAbsoluteDifferences>>(context, *this);
}

}
