#pragma once

#include "Components/Interpolators/Shared/SplineBatch.h"
#include "Core/Registration/Interpolation/IndexRow.h"

#include <algorithm>
#include <cmath>

namespace tessera {

/// Rounding may have moved indices that are nearer than this to a border to its other side, because they are
/// computed from a row's start and step.
constexpr double rowMargin = 1e-6; // in voxels

/// The index of the row's point i. It is monotonic in i, even with its rounding.
template <int D>
TESSERA_ALWAYS_INLINE double indexOfRow(const IndexRow<D>& row, int d, std::int32_t i)
{
  return row.first[d] + row.step[d] * static_cast<double>(i);
}

/// The first of points [0, count) for which holds(i) is true. holds(i) must stay true for all larger i;
/// `about` is a guess.
template <class Holds>
TESSERA_ALWAYS_INLINE std::int32_t firstPoint(std::int32_t count, double about, const Holds& holds)
{
  std::int32_t i = about >= 0 ? (about < count ? static_cast<std::int32_t>(about) : count) : 0;
  while (i > 0 && holds(i - 1))
    --i;
  while (i < count && !holds(i))
    ++i;
  return i;
}

/// The points with indices in [low[d], high[d]) along every axis. NaN is in no range.
template <int D>
RowSpan withinAll(const IndexRow<D>& row, const Vec<D>& low, const Vec<D>& high)
{
  const auto count = static_cast<std::int32_t>(row.count);
  RowSpan span{0, count};
  for (int d = 0; d < D; ++d) {
    const double toLow = (low[d] - row.first[d]) / row.step[d],
                 toHigh = (high[d] - row.first[d]) / row.step[d];
    const auto reachesLow = [&](std::int32_t i) { return indexOfRow<D>(row, d, i) >= low[d]; };
    const auto reachesHigh = [&](std::int32_t i) { return indexOfRow<D>(row, d, i) >= high[d]; };
    const auto belowLow = [&](std::int32_t i) { return indexOfRow<D>(row, d, i) < low[d]; };
    const auto belowHigh = [&](std::int32_t i) { return indexOfRow<D>(row, d, i) < high[d]; };
    const bool rises = row.step[d] >= 0;
    span.begin = std::max(span.begin, rises ? firstPoint(count, toLow, reachesLow)
                                            : firstPoint(count, toHigh, belowHigh));
    span.end = std::min(span.end,
                        rises ? firstPoint(count, toHigh, reachesHigh) : firstPoint(count, toLow, belowLow));
  }
  return span.begin < span.end ? span : RowSpan{};
}

/// Finds the points of a row that are inside. Returns false if rounding decides this for some point. An index
/// moves in one direction along a row, so only the points at both ends of the span and their neighbours can
/// be that near to a border.
template <int D>
bool insideOfRow(const IndexRow<D>& row, const Size<D>& size, RowSpan& span)
{
  Vec<D> low, high;
  for (int d = 0; d < D; ++d) {
    low[d] = -0.5;
    high[d] = static_cast<double>(size[d]) - 0.5;
  }
  span = withinAll<D>(row, low, high);
  if (span.begin == span.end) {
    for (int d = 0; d < D; ++d) {
      low[d] -= rowMargin;
      high[d] += rowMargin;
    }
    const RowSpan beside = withinAll<D>(row, low, high);
    return beside.begin == beside.end;
  }
  const auto last = static_cast<std::int32_t>(row.count) - 1;
  for (const std::int32_t i :
       {std::max(span.begin - 1, 0), span.begin, span.end - 1, std::min(span.end, last)})
    for (int d = 0; d < D; ++d) {
      const double index = indexOfRow<D>(row, d, i);
      if (std::abs(index - low[d]) < rowMargin || std::abs(index - high[d]) < rowMargin)
        return false;
    }
  return true;
}

}
