#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace tessera {

/// The median of at least one value: of an even number of values the mean of the two in the middle.
inline double median(std::vector<double> values)
{
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}
