#include "Components/Transforms/Shared/LinearSolve.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {

bool solveLinear(std::vector<double> matrix, std::size_t count, std::vector<double>& right,
                 std::size_t rightHandSides)
{
  const auto row = [&](std::size_t i) { return matrix.data() + i * count; };
  const auto rightHandRow = [&](std::size_t i) { return right.data() + i * rightHandSides; };
  double largest = 0;
  for (const double value : matrix)
    largest = std::max(largest, std::abs(value));
  const double negligible = largest * static_cast<double>(count) * std::numeric_limits<double>::epsilon();

  for (std::size_t k = 0; k < count; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < count; ++i)
      if (std::abs(row(i)[k]) > std::abs(row(pivot)[k]))
        pivot = i;
    if (!(std::abs(row(pivot)[k]) > negligible))
      return false;
    if (pivot != k) {
      std::swap_ranges(row(k), row(k) + count, row(pivot));
      std::swap_ranges(rightHandRow(k), rightHandRow(k) + rightHandSides, rightHandRow(pivot));
    }
    for (std::size_t i = k + 1; i < count; ++i) {
      const double factor = row(i)[k] / row(k)[k];
      if (factor == 0)
        continue;
      for (std::size_t j = k + 1; j < count; ++j)
        row(i)[j] -= factor * row(k)[j];
      for (std::size_t j = 0; j < rightHandSides; ++j)
        rightHandRow(i)[j] -= factor * rightHandRow(k)[j];
    }
  }
  for (std::size_t k = count; k-- > 0;) {
    for (std::size_t i = k + 1; i < count; ++i)
      for (std::size_t j = 0; j < rightHandSides; ++j)
        rightHandRow(k)[j] -= row(k)[i] * rightHandRow(i)[j];
    for (std::size_t j = 0; j < rightHandSides; ++j)
      rightHandRow(k)[j] /= row(k)[k];
  }
  return true;
}

}
