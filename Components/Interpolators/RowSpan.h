#pragma once

#include "Components/Interpolators/SplineBatch.h"
#include "Core/Registration/RowInterpolator.h"

#include <algorithm>

namespace tessera {

/// Indices nearer than this to a border may have been on its other side before they were folded into a row's start and step.
constexpr double rowMargin = 1e-6; // voxels

/// Numbers [begin, end) of a row.
struct RowSpan {
  std::int32_t begin = 0, end = 0;
  bool operator==(const RowSpan&) const = default;
};

/// Index of the row's point i. As i grows it never turns back, not by its roundings either.
template <int D>
TESSERA_ALWAYS_INLINE double indexOfRow(const IndexRow<D>& row, int d, std::int32_t i)
{
  return row.first[d] + row.step[d] * static_cast<double>(i);
}

/// The points whose indices lie in [low, high) along axis d, among those of `span`.
template <int D>
RowSpan withinAlong(const IndexRow<D>& row, int d, double low, double high, RowSpan span)
{
  const bool rises = row.step[d] >= 0;
  const auto firstWhere = [&](auto&& holds) { // as it turns true once
    std::int32_t begin = span.begin, end = span.end;
    while (begin < end) {
      const std::int32_t middle = begin + (end - begin) / 2;
      if (holds(indexOfRow<D>(row, d, middle)))
        end = middle;
      else
        begin = middle + 1;
    }
    return begin;
  };
  if (rises)
    return {firstWhere([&](double index) { return index >= low; }), firstWhere([&](double index) { return index >= high; })};
  return {firstWhere([&](double index) { return index < high; }), firstWhere([&](double index) { return index < low; })};
}

/// Those with indices in [low[d], high[d]) along every axis; an empty span begins and ends at 0. NaN lies nowhere.
template <int D>
RowSpan withinAll(const IndexRow<D>& row, const Vec<D>& low, const Vec<D>& high)
{
  RowSpan span{0, static_cast<std::int32_t>(row.count)};
  for (int d = 0; d < D; ++d) {
    if (!(row.first[d] - row.first[d] + row.step[d] * 0 == 0))
      return {};
    span = withinAlong<D>(row, d, low[d], high[d], span);
  }
  return span.begin < span.end ? span : RowSpan{};
}

/// Marks which points of a row are inside and zeroes the values of those that are not; false if rounding decides it for any.
template <int D>
bool insideOfRow(const IndexRow<D>& row, const Size<D>& size, RowSpan& span, float* values, std::uint8_t* inside)
{
  Vec<D> low, high, lowMore, highMore, lowLess, highLess;
  for (int d = 0; d < D; ++d) {
    low[d] = -0.5;
    high[d] = static_cast<double>(size[d]) - 0.5;
    lowMore[d] = low[d] - rowMargin;
    highMore[d] = high[d] + rowMargin;
    lowLess[d] = low[d] + rowMargin;
    highLess[d] = high[d] - rowMargin;
  }
  span = withinAll<D>(row, low, high);
  if (withinAll<D>(row, lowMore, highMore) != span || withinAll<D>(row, lowLess, highLess) != span)
    return false;
  std::fill_n(inside, row.count, std::uint8_t{0});
  std::fill_n(values, row.count, 0.0f);
  std::fill(inside + span.begin, inside + span.end, std::uint8_t{1});
  return true;
}

}
