#include "Components/Registrations/MultiMetricMultiResolutionRegistration.h"

namespace tessera {
namespace {

constexpr int documentedTerms = 16;

const Parameter<bool> useRelativeWeights =
    booleanParameter("UseRelativeWeights", false, Arity::single,
                     "weight gradients by the ratio of their norms to the first one's");

Parameter<double> weightOf(std::size_t term)
{
  auto parameter = realParameter("Metric" + std::to_string(term) + "Weight", 1, Arity::perLevel, "",
                                 "weight of this metric");
  parameter.defaultText = "1 / number of metrics";
  return parameter;
}

Parameter<double> relativeWeightOf(std::size_t term)
{
  auto parameter = realParameter("Metric" + std::to_string(term) + "RelativeWeight", 1, Arity::perLevel, "",
                                 "weight of this metric's gradient after scaling to the first one's norm");
  parameter.defaultText = "1 / number of metrics";
  return parameter;
}

Parameter<bool> useOf(std::size_t term)
{
  return booleanParameter("Metric" + std::to_string(term) + "Use", true, Arity::perLevel,
                          "false: weight 0 at this level");
}

/// The value for this level, or else the first value; nothing if the text has none.
std::optional<double> levelValue(const Parameters& parameters, const Parameter<double>& parameter,
                                 std::size_t level)
{
  const auto valueOfLevel = parameters.find(parameter, level);
  return valueOfLevel ? valueOfLevel : parameters.find(parameter, 0);
}

}

const ComponentDescription& MultiMetricMultiResolutionRegistration::description()
{
  static const ComponentDescription description = [] {
    ComponentDescription d{"Registration",
                           "MultiMetricMultiResolutionRegistration",
                           "A weighted sum of metrics, coarse to fine.",
                           {useRelativeWeights}};
    for (int term = 0; term < documentedTerms; ++term)
      d.parameters.insert(d.parameters.end(), {weightOf(term), relativeWeightOf(term), useOf(term)});
    return d;
  }();
  return description;
}

void MultiMetricMultiResolutionRegistration::checkTermCount(std::size_t terms) const
{
  if (terms > documentedTerms)
    parameters_.fail("Metric", std::to_string(terms) + " metrics",
                     "Allowed: at most " + std::to_string(documentedTerms));
}

TermCombination MultiMetricMultiResolutionRegistration::combination(std::size_t level,
                                                                    std::size_t terms) const
{
  TermCombination combination;
  combination.relative = parameters_.get(useRelativeWeights);
  for (std::size_t term = 0; term < terms; ++term) {
    const auto given =
        levelValue(parameters_, combination.relative ? relativeWeightOf(term) : weightOf(term), level);
    const bool used = parameters_.get(useOf(term), level);
    combination.weights.push_back(used ? given.value_or(1.0 / static_cast<double>(terms)) : 0.0);
  }
  return combination;
}

}
