#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera {

/// Sorts the entries of a row by column. Entries of equal columns keep their order.
template <class V>
void sortRow(std::uint32_t* column, V* value, std::size_t count,
             std::vector<std::pair<std::uint32_t, V>>& scratch)
{
  if (std::is_sorted(column, column + count))
    return;
  scratch.resize(count);
  for (std::size_t i = 0; i < count; ++i)
    scratch[i] = {column[i], value[i]};
  std::stable_sort(scratch.begin(), scratch.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (std::size_t i = 0; i < count; ++i) {
    column[i] = scratch[i].first;
    value[i] = scratch[i].second;
  }
}

}
