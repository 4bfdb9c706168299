#include "Core/Image/Landmarks/NeighbourAgreement.h"

#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

namespace tessera {
namespace {

constexpr std::size_t neighbours = 8;

double lengthOf(const Vec<3>& a, const Vec<3>& b)
{
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

double medianOf(std::array<double, neighbours> values)
{
  std::ranges::sort(values);
  return (values[neighbours / 2 - 1] + values[neighbours / 2]) / 2;
}

bool agrees(std::span<const Vec<3>> pointsMm, std::span<const Vec<3>> displacementsMm,
            const std::vector<std::uint8_t>& mayVote, std::size_t point, double toleranceMm)
{
  std::vector<std::pair<double, std::size_t>> byDistance;
  for (std::size_t i = 0; i < pointsMm.size(); ++i)
    if (i != point && mayVote[i] != 0)
      byDistance.emplace_back(lengthOf(pointsMm[i], pointsMm[point]), i);
  if (byDistance.size() < neighbours)
    return true;
  std::ranges::partial_sort(byDistance, byDistance.begin() + neighbours);
  Vec<3> median;
  std::array<double, neighbours> values;
  for (std::size_t d = 0; d < 3; ++d) {
    for (std::size_t i = 0; i < neighbours; ++i)
      values[i] = displacementsMm[byDistance[i].second][d];
    median[d] = medianOf(values);
  }
  for (std::size_t i = 0; i < neighbours; ++i)
    values[i] = lengthOf(displacementsMm[byDistance[i].second], median);
  return lengthOf(displacementsMm[point], median) <= toleranceMm + 0.5 * 1.4826 * medianOf(values);
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
