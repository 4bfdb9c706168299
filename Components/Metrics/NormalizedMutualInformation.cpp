#include "Components/Metrics/NormalizedMutualInformation.h"

#include "Core/Registration/ImageTerm.h"

namespace tessera {
namespace {

double logOrZero(double probability)
{
  return probability > 1e-16 ? std::log(probability) : 0;
}

}

NormalizedMutualInformation::NormalizedMutualInformation(const Parameters& parameters, std::size_t level, const LevelFacts& facts)
    : histogram_(parameters, level, facts)
{
}

const ComponentDescription& NormalizedMutualInformation::description()
{
  static const ComponentDescription description = [] {
    ComponentDescription d{"Metric",
                           "NormalizedMutualInformation",
                           {},
                           "-(H(F) + H(M)) / H(F, M), from a Parzen-window histogram (Studholme et al. 1999)",
                           ParzenHistogram::parameters()};
    const auto common = imageTermParameters();
    d.parameters.insert(d.parameters.end(), common.begin(), common.end());
    return d;
  }();
  return description;
}

/// With value = -N / J, N = H(F) + H(M) and J = H(F, M): d value / dp = (ln p_f + ln p_m - (N / J) ln p) / J, but for constants.
NormalizedMutualInformation::Table NormalizedMutualInformation::finish(const Sums& sums, std::size_t valid) const
{
  ParzenHistogram::Densities p = histogram_.densities(sums, valid);
  Table table = histogram_.emptyTable(valid);
  for (double& probability : p.fixed)
    probability = logOrZero(probability);
  for (double& probability : p.moving)
    probability = logOrZero(probability);

  const std::size_t columns = p.moving.size();
  double marginalEntropies = 0, jointEntropy = 0;
  for (std::size_t row = 0; row < p.fixed.size(); ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      const double joint = p.joint[row * columns + column], logJoint = logOrZero(joint);
      marginalEntropies -= joint * (p.fixed[row] + p.moving[column]);
      jointEntropy -= joint * logJoint;
      table.weights[row * columns + column] = logJoint;
    }
  if (!(jointEntropy > 1e-14)) { // one bin: both images are constant
    std::fill(table.weights.begin(), table.weights.end(), 0.0);
    return table;
  }
  table.value = -marginalEntropies / jointEntropy;
  for (std::size_t row = 0; row < p.fixed.size(); ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      double& weight = table.weights[row * columns + column];
      weight = (p.fixed[row] + p.moving[column] + table.value * weight) / jointEntropy;
    }
  return table;
}

std::unique_ptr<MetricOnCuda> NormalizedMutualInformation::onCuda(const Context&) const
{
  return nullptr;
}

}
