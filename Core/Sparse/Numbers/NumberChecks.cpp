#include "Core/Sparse/Numbers/NumberChecks.h"

#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <type_traits>
#include <vector>

namespace tessera {
namespace {

constexpr std::size_t numbersPerChunk = 1 << 18;

/// The largest magnitude in double precision, perhaps rounded up.
double largestMagnitude(const Context& context, const Array<std::int64_t>& values)
{
  std::vector<double> partial((values.size() + numbersPerChunk - 1) / numbersPerChunk);
  forEachRange(context, values.size(), numbersPerChunk, [&](std::size_t first, std::size_t last) {
    std::int64_t low = 0, high = 0;
    for (std::size_t i = first; i < last; ++i) {
      low = std::min(low, values[i]);
      high = std::max(high, values[i]);
    }
    partial[first / numbersPerChunk] = std::max(-static_cast<double>(low), static_cast<double>(high));
  });
  return partial.empty() ? 0 : *std::max_element(partial.begin(), partial.end());
}

}

template <class V>
bool allFinite(const Context& context, const Array<V>& values)
{
  if constexpr (std::is_integral_v<V>) {
    return true;
  } else {
    std::atomic<bool> finite = true;
    forEachRange(context, values.size(), numbersPerChunk, [&](std::size_t first, std::size_t last) {
      if (!std::all_of(values.data() + first, values.data() + last,
                       [](V value) { return std::isfinite(value); }))
        finite.store(false, std::memory_order_relaxed);
    });
    return finite;
  }
}
TESSERA_INSTANTIATE_FOR_NUMBERS(allFinite<V>);

bool sumsFitInt64(const Context& context, const CsrMatrix<std::int64_t>& a, const CsrMatrix<std::int64_t>& b)
{
  std::uint64_t longest = 0;
  for (std::size_t row = 0; row < a.rows; ++row)
    longest = std::max(longest, a.rowEntries(row));
  constexpr double room = 0x1p62; // half of 2^63, a margin far above the rounding errors of this product
  return largestMagnitude(context, a.value) * largestMagnitude(context, b.value)
             * static_cast<double>(longest)
         < room;
}

}
