#pragma once

#include "Core/Compute/Math/SmallMatrix.h"

#include <vector>

namespace tessera {

/// A summary of the errors of landmarks, in mm.
struct ErrorStatistics {
  std::size_t count = 0;
  double meanMm = 0;
  double deviationMm = 0;                  // of a sample: divided by count - 1; 0 for one point
  double medianMm = 0, percentile95Mm = 0; // linear between neighbours in the order of size
  double largestMm = 0;
  double shareAbove2Mm = 0, shareAbove5Mm = 0; // from 0 to 1
  std::vector<double> meanPerAxisMm;           // signed: mapped - wanted
};

/// The summary of the vectors from the wanted points to the mapped ones. There is at least one.
template <int D>
ErrorStatistics errorStatistics(const std::vector<Vec<D>>& errorsMm);

/// The value below which the share `share` of the values lies, linear between neighbours. Sorts `values`,
/// which are not empty.
double percentile(std::vector<double>& values, double share);

/// Five of some values in the order of size: those below which 0, 1, 50, 99 and 100 % of them lie. 1 where
/// there are none.
struct OrderStatistics {
  double least = 1, percentile1 = 1, median = 1, percentile99 = 1, largest = 1;
};

/// Changes the order of the values, of which none may be NaN.
OrderStatistics orderStatistics(std::vector<float>& values);

}
