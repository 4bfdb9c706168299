#pragma once

#include "Core/Compute/Error.h"
#include "Core/Sparse/SpGemmOptions.h"

#include <cmath>
#include <cstdint>
#include <vector>

namespace tessera {

/// Turns a row of A B, to which the mask has been applied, into a row of C: applies the powers of two of half
/// precision, the scale, the sum with D, and the tolerance.
template <class V>
class RowEpilogue {
public:
  /// The exponents are those of HalfScaled, or empty without half precision.
  RowEpilogue(const SpGemmOptions<V>& options, std::vector<std::int32_t> rowExponent,
              std::vector<std::int32_t> columnExponent)
      : options_(options), rowExponent_(std::move(rowExponent)), columnExponent_(std::move(columnExponent)),
        needed_(options.scale || options.accumulate || options.dropTolerance || !rowExponent_.empty())
  {
  }

  /// The number of entries that D may add to the row.
  std::uint64_t extraEntries(std::size_t row) const
  {
    return options_.accumulate ? options_.accumulate->rowEntries(row) : 0;
  }

  /// Applies the mask, if there is one, to a row that was made whole. Returns its number of entries.
  std::size_t masked(std::size_t row, std::uint32_t* column, V* value, std::size_t count) const
  {
    if (!options_.mask)
      return count;
    const MatrixPattern& mask = *options_.mask;
    const std::uint32_t *at = mask.column.data() + mask.rowStart[row], *const end = mask.column.data()
                                                                                    + mask.rowStart[row + 1];
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      while (at != end && *at < column[i])
        ++at;
      const bool inside = at != end && *at == column[i];
      column[kept] = column[i];
      value[kept] = value[i];
      kept += inside != options_.complementMask;
    }
    return kept;
  }

  /// Changes the row in place and returns its number of entries. `scratch` is memory that may be overwritten.
  template <class Ring>
  std::size_t apply(Ring& ring, std::size_t row, std::uint32_t* column, V* value, std::size_t count,
                    std::vector<std::pair<std::uint32_t, V>>& scratch) const
  {
    if (!needed_)
      return count;
    unscaleHalf(row, column, value, count);
    if (options_.scale)
      for (std::size_t i = 0; i < count; ++i)
        value[i] = ring.product(*options_.scale, value[i]);
    if (options_.accumulate)
      count = joined(ring, row, column, value, count, scratch);
    if (options_.dropTolerance)
      count = withoutSmall(column, value, count);
    return count;
  }

private:
  void unscaleHalf([[maybe_unused]] std::size_t row, [[maybe_unused]] const std::uint32_t* column,
                   [[maybe_unused]] V* value, [[maybe_unused]] std::size_t count) const
  {
    if constexpr (std::is_same_v<V, float>)
      for (std::size_t i = 0; !rowExponent_.empty() && i < count; ++i)
        value[i] = std::ldexp(value[i], rowExponent_[row] + columnExponent_[column[i]]);
  }

  template <class Ring>
  std::size_t joined(Ring& ring, std::size_t row, std::uint32_t* column, V* value, std::size_t count,
                     std::vector<std::pair<std::uint32_t, V>>& scratch) const
  {
    const CsrMatrix<V>& d = *options_.accumulate;
    scratch.clear();
    std::size_t i = 0;
    std::uint64_t j = d.rowStart[row];
    const std::uint64_t end = d.rowStart[row + 1];
    while (i < count || j < end) {
      if (j == end || (i < count && column[i] < d.column[j])) {
        scratch.emplace_back(column[i], value[i]);
        ++i;
      } else if (i == count || d.column[j] < column[i]) {
        scratch.emplace_back(d.column[j], d.value[j]);
        ++j;
      } else {
        scratch.emplace_back(column[i], ring.add(value[i], d.value[j]));
        ++i;
        ++j;
      }
    }
    for (std::size_t k = 0; k < scratch.size(); ++k) {
      column[k] = scratch[k].first;
      value[k] = scratch[k].second;
    }
    return scratch.size();
  }

  std::size_t withoutSmall(std::uint32_t* column, V* value, std::size_t count) const
  {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      column[kept] = column[i];
      value[kept] = value[i];
      kept += !(std::fabs(static_cast<double>(value[i]))
                <= *options_.dropTolerance); // keeps values that are not a number
    }
    return kept;
  }

  const SpGemmOptions<V>& options_;
  std::vector<std::int32_t> rowExponent_, columnExponent_;
  bool needed_;
};

}
