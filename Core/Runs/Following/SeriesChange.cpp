#include "Core/Runs/Following/SeriesChange.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

std::vector<std::size_t> bright(const std::vector<float>& mean, const std::vector<bool>& isMissing)
{
  constexpr double ofAll = 0.98, ofRange = 0.2;
  std::vector<float> sorted = mean;
  const auto high =
      sorted.begin() + static_cast<std::ptrdiff_t>(ofAll * static_cast<double>(sorted.size() - 1));
  std::ranges::nth_element(sorted, high);
  const float least = std::ranges::min(mean), limit = least + static_cast<float>(ofRange) * (*high - least);
  std::vector<std::size_t> inside;
  for (std::size_t v = 0; v < mean.size(); ++v)
    if (mean[v] > limit && !isMissing[v])
      inside.push_back(v);
  return inside;
}

}

double SeriesChange::deviationPercent() const
{
  double squares = 0;
  for (const std::size_t v : inside)
    squares += static_cast<double>(deviation[v]) * deviation[v];
  return level > 0 ? 100 / level * std::sqrt(squares / static_cast<double>(inside.size()))
                   : std::numeric_limits<double>::quiet_NaN();
}

double SeriesChange::meanDvarsPercent() const
{
  double sum = 0, count = 0;
  for (const double percent : dvarsPercent)
    if (std::isfinite(percent)) {
      sum += percent;
      ++count;
    }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

SeriesChange changeOf(std::size_t volumes, std::size_t voxels, const VolumeValues& valuesOf)
{
  SeriesChange change;
  std::vector<double> sum(voxels), squares(voxels);
  std::vector<bool> isMissing(voxels); // in some volume
  double count = 0;
  for (std::size_t i = 0; i < volumes; ++i) {
    const std::span<const float> values = valuesOf(i);
    count += values.empty() ? 0 : 1;
    for (std::size_t v = 0; v < values.size(); ++v) {
      sum[v] += values[v];
      squares[v] += static_cast<double>(values[v]) * values[v];
      isMissing[v] = isMissing[v] || values[v] == 0;
    }
  }
  const double times = std::max(count, 1.0);
  for (std::size_t v = 0; v < voxels; ++v) {
    const double mean = sum[v] / times;
    change.mean.push_back(static_cast<float>(mean));
    change.deviation.push_back(
        static_cast<float>(std::sqrt(std::max(0.0, squares[v] / times - mean * mean))));
  }
  change.inside = bright(change.mean, isMissing);
  for (const std::size_t v : change.inside)
    change.level += change.mean[v];
  change.level = std::abs(change.level) / static_cast<double>(std::max<std::size_t>(change.inside.size(), 1));
  std::vector<float> before;
  for (std::size_t i = 0; i < volumes; ++i) {
    const std::span<const float> values = valuesOf(i);
    double difference = 0;
    for (std::size_t k = 0; k < change.inside.size() && !values.empty() && !before.empty(); ++k)
      difference += std::pow(static_cast<double>(values[change.inside[k]]) - before[change.inside[k]], 2);
    change.dvarsPercent.push_back(
        values.empty() || before.empty() || change.level == 0
            ? std::numeric_limits<double>::quiet_NaN()
            : 100 / change.level * std::sqrt(difference / static_cast<double>(change.inside.size())));
    before.assign(values.begin(), values.end());
  }
  return change;
}

}
