#pragma once

#include "Core/Image/Filters/ExponentialFilter.h"

#include <cmath>
#include <cstdlib>
#include <vector>

namespace tessera::testing {

/// The filter's sums one after the other, over a line that is continued as far as its poles reach.
inline std::vector<double> filteredByDefinition(const ExponentialFilter& filter, LineEnds ends,
                                                const std::vector<float>& line)
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
    const long reach = static_cast<long>(std::ceil(std::log(1e-14) / std::log(std::abs(term.pole)))) + 1;
    std::complex<double> sum = 0;
    for (long n = -reach; n < length; ++n) {
      sum = at(n) + term.pole * sum;
      if (n >= 0)
        result[n] += (term.amplitude * sum).real();
    }
    sum = 0; // from behind, without the element itself
    for (long n = length + reach; n >= 0; --n) {
      if (n < length)
        result[n] += (term.amplitude * term.pole * sum).real();
      sum = at(n) + term.pole * sum;
    }
  }
  return result;
}

}
