#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace tessera::testing {

template <class Number>
double largestMagnitude(const std::vector<Number>& values)
{
  double largest = 0;
  for (const Number value : values)
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest;
}

/// The largest difference of values at the same place. Infinite if the sizes differ or one is no number.
template <class A, class B>
double largestDifference(const std::vector<A>& a, const std::vector<B>& b)
{
  if (a.size() != b.size())
    return INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

}
