#include "Core/Sparse/NumberChecks.h"

#include "Core/Compute/Parallel.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <type_traits>
#include <vector>

namespace tessera {
namespace {

constexpr std::size_t numbersPerChunk = 1 << 18;

/// Without a branch, so that it runs in vectors.
template <class V>
bool rangeIsFinite(const V* first, std::size_t count)
{
  using Bits = std::conditional_t<sizeof(V) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits exponent = sizeof(V) == 4 ? Bits(0x7f800000) : Bits(0x7ff0000000000000);
  Bits bad = 0;
  for (std::size_t i = 0; i < count; ++i)
    bad |= (std::bit_cast<Bits>(first[i]) & exponent) == exponent;
  return bad == 0;
}

/// In double, rounded up: 2^63 and more are all too much.
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
      if (!rangeIsFinite(values.data() + first, last - first))
        finite.store(false, std::memory_order_relaxed);
    });
    return finite;
  }
}
template bool allFinite(const Context&, const Array<double>&);
template bool allFinite(const Context&, const Array<float>&);
template bool allFinite(const Context&, const Array<std::int64_t>&);

bool sumsFitInt64(const Context& context, const CsrMatrix<std::int64_t>& a, const CsrMatrix<std::int64_t>& b)
{
  std::uint64_t longest = 0;
  for (std::size_t row = 0; row < a.rows; ++row)
    longest = std::max(longest, a.rowEntries(row));
  constexpr double room = 0x1p62; // twice as small as the limit: far above the roundings here
  return largestMagnitude(context, a.value) * largestMagnitude(context, b.value) * static_cast<double>(longest) < room;
}

}
