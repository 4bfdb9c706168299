#pragma once

#include "Core/Image/ExponentialFilter.h"

#include <cstddef>
#include <cstdlib>
#include <vector>

namespace tessera::testing {

/// The filter's definition, term by term, as far as its poles reach.
inline std::vector<double> filteredByDefinition(const ExponentialFilter& filter, LineEnds ends, const std::vector<float>& line)
{
  const long length = static_cast<long>(line.size()), period = 2 * (length - 1);
  const auto at = [&](long i) -> double {
    if (ends == LineEnds::constant || length == 1)
      return line[i < 0 ? 0 : i < length ? i : length - 1];
    const long there = std::labs(i) % period;
    return line[there < length ? there : period - there];
  };
  std::vector<double> result(line.size());
  for (const ExponentialTerm& term : filter) {
    std::complex<double> weight = term.amplitude;
    for (long k = 0; std::abs(weight) > 1e-14; ++k, weight *= term.pole)
      for (long n = 0; n < length; ++n)
        result[n] += weight.real() * (k == 0 ? at(n) : at(n - k) + at(n + k));
  }
  return result;
}

}
