#include "Core/Compute/Math/ErrorStatistics.h"

#include "Core/Compute/Math/VectorLength.h"

#include <algorithm>
#include <cmath>

namespace tessera {

double percentile(std::vector<double>& values, double share)
{
  std::ranges::sort(values);
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
}

OrderStatistics orderStatistics(std::vector<float>& values)
{
  if (values.empty())
    return {};
  const auto place = [&](double share) {
    return values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  };
  OrderStatistics found;
  const auto low = place(0.01), median = place(0.5), high = place(0.99);
  std::nth_element(values.begin(), median, values.end());
  found.median = *median;
  std::nth_element(values.begin(), low, median);
  found.percentile1 = *low;
  found.least = *std::min_element(values.begin(), low + 1);
  std::nth_element(median, high, values.end());
  found.percentile99 = *high;
  found.largest = *std::max_element(high, values.end());
  return found;
}

template <int D>
ErrorStatistics errorStatistics(const std::vector<Vec<D>>& errorsMm)
{
  ErrorStatistics s;
  s.count = errorsMm.size();
  s.meanPerAxisMm.assign(D, 0.0);
  const double n = static_cast<double>(s.count);
  std::vector<double> lengths;
  for (const Vec<D>& error : errorsMm) {
    for (int d = 0; d < D; ++d)
      s.meanPerAxisMm[static_cast<std::size_t>(d)] += error[d] / n;
    lengths.push_back(lengthOf<D>(error));
    s.meanMm += lengths.back() / n;
    s.shareAbove2Mm += lengths.back() > 2;
    s.shareAbove5Mm += lengths.back() > 5;
  }
  s.shareAbove2Mm /= n;
  s.shareAbove5Mm /= n;
  for (const double length : lengths)
    s.deviationMm += (length - s.meanMm) * (length - s.meanMm);
  s.deviationMm = s.count > 1 ? std::sqrt(s.deviationMm / (n - 1)) : 0;
  s.medianMm = percentile(lengths, 0.5);
  s.percentile95Mm = percentile(lengths, 0.95);
  s.largestMm = lengths.back();
  return s;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(errorStatistics<D>);

}
