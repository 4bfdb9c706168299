#include "Core/Image/Landmarks/NeighbourAgreement.h"

#include "Core/Compute/Math/Median.h"
#include "Core/Compute/Math/VectorLength.h"
#include "Core/Compute/Threads/Parallel.h"

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

namespace tessera {
namespace {

constexpr std::size_t neighbours = 8;

bool agrees(std::span<const Vec<3>> pointsMm, std::span<const Vec<3>> displacementsMm,
            const std::vector<std::uint8_t>& mayVote, std::size_t point, double toleranceMm)
{
  std::array<std::pair<double, std::size_t>, neighbours> nearest; // by squared distance, then by number
  nearest.fill({std::numeric_limits<double>::infinity(), pointsMm.size()});
  for (std::size_t i = 0; i < pointsMm.size(); ++i) {
    double squared = 0;
    for (std::size_t d = 0; d < 3; ++d)
      squared += (pointsMm[i][d] - pointsMm[point][d]) * (pointsMm[i][d] - pointsMm[point][d]);
    if (squared >= nearest.back().first || i == point || mayVote[i] == 0)
      continue;
    std::size_t place = neighbours - 1;
    for (; place > 0 && squared < nearest[place - 1].first; --place)
      nearest[place] = nearest[place - 1];
    nearest[place] = {squared, i};
  }
  if (nearest.back().second == pointsMm.size())
    return true;
  Vec<3> middle;
  std::vector<double> values(neighbours);
  for (std::size_t d = 0; d < 3; ++d) {
    for (std::size_t i = 0; i < neighbours; ++i)
      values[i] = displacementsMm[nearest[i].second][d];
    middle[d] = median(values);
  }
  for (std::size_t i = 0; i < neighbours; ++i)
    values[i] = distanceBetween<3>(displacementsMm[nearest[i].second], middle);
  // A median of absolute deviations, times 1.4826, is the standard deviation of normal errors.
  constexpr double allowedDeviations = 0.5 * 1.4826;
  return distanceBetween<3>(displacementsMm[point], middle)
         <= toleranceMm + allowedDeviations * median(values);
}

}

std::vector<bool> agreesWithNeighbours(const Context& context, std::span<const Vec<3>> pointsMm,
                                       std::span<const Vec<3>> displacementsMm, double toleranceMm)
{
  std::vector<std::uint8_t> agreed(pointsMm.size(), 1);
  for (int pass = 0; pass < 2; ++pass) {
    const std::vector<std::uint8_t> before = agreed;
    forEachChunk(context, pointsMm.size(), [&](std::size_t i) {
      agreed[i] = agrees(pointsMm, displacementsMm, before, i, toleranceMm) ? 1 : 0;
    });
  }
  return {agreed.begin(), agreed.end()};
}

}
