#pragma once

#include "Core/Sparse/CsrMatrix.h"
#include "Core/Sparse/Rows/ColumnSet.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera {

/// The largest number of columns for which a row of C is summed up in an array over all columns. Wider
/// matrices use a hash table.
constexpr std::size_t largestSummedColumns = std::size_t(1) << 22;

/// The columns that a row of C may have: those of `columns`, which rise, or all others.
struct RowMask {
  std::span<const std::uint32_t> columns;
  bool complement = false;
};

/// Computes rows of C = A B over a semiring on the CPU. The columns of B must rise in each row. The products
/// of an entry are added in the order of k. Each thread needs an object of its own.
///
/// for each entry (k, a) of the row of A, and each entry (column, b) of row k of B:
///   sum[column] += a * b, and the column joins the set of the row's columns
/// for each column of the set, in rising order: write the column and its sum
template <class V, class Ring>
class RowProduct {
public:
  explicit RowProduct(const CsrMatrix<V>& b)
      : b_(b), summed_(b.columns <= largestSummedColumns), seen_(summed_ ? b.columns + 1 : 1)
  {
    if (summed_)
      sums_.assign(b.columns, Ring::zero);
  }

  /// Writes the row with rising columns and returns its number of entries. The row of A is given by `count`
  /// columns `k` and values `a`.
  std::size_t multiply(Ring& ring, const std::uint32_t* k, const V* a, std::size_t count,
                       std::uint32_t* column, V* value)
  {
    if (count == 1)
      return multiplyOne(ring, k[0], a[0], column, value);
    return summed_ ? multiplySummed(ring, k, a, count, column, value, [](std::uint32_t) { return true; })
                   : multiplyHashed(ring, k, a, count, column, value, [](std::uint32_t) { return true; });
  }

  /// The same for the columns alone that a mask leaves: products of others are not made.
  std::size_t multiply(Ring& ring, const std::uint32_t* k, const V* a, std::size_t count, const RowMask& mask,
                       std::uint32_t* column, V* value)
  {
    if (!summed_)
      return multiplyHashed(ring, k, a, count, column, value, [&](std::uint32_t c) {
        return std::ranges::binary_search(mask.columns, c) != mask.complement;
      });
    masked_.resize(b_.columns / 64 + 1);
    for (const std::uint32_t c : mask.columns)
      masked_[c / 64] |= std::uint64_t(1) << c % 64;
    const std::size_t made = multiplySummed(
        ring, k, a, count, column, value,
        [&](std::uint32_t c) { return (masked_[c / 64] >> c % 64 & 1) != mask.complement; },
        mask.complement ? std::span<const std::uint32_t>() : mask.columns);
    for (const std::uint32_t c : mask.columns)
      masked_[c / 64] = 0;
    return made;
  }

  /// Writes the values of the row at the given columns alone.
  void gather(Ring& ring, const std::uint32_t* k, const V* a, std::size_t count, const std::uint32_t* column,
              std::size_t columns, V* value)
  {
    if (!summed_)
      return gatherHashed(ring, k, a, count, column, columns, value);
    for (std::size_t i = 0; i < count; ++i)
      for (std::uint64_t j = b_.rowStart[k[i]]; j < b_.rowStart[k[i] + 1]; ++j)
        sums_[b_.column[j]] = ring.add(sums_[b_.column[j]], ring.multiply(a[i], b_.value[j]));
    for (std::size_t i = 0; i < columns; ++i)
      value[i] = sums_[column[i]];
    for (std::size_t i = 0; i < count; ++i) // clears all sums, also those of columns that were not asked for
      for (std::uint64_t j = b_.rowStart[k[i]]; j < b_.rowStart[k[i] + 1]; ++j)
        sums_[b_.column[j]] = Ring::zero;
  }

private:
  static constexpr std::uint32_t noColumn = ~0u; // no matrix has this column, see largestMatrixSide

  std::size_t multiplyOne(Ring& ring, std::size_t k, V a, std::uint32_t* column, V* value)
  {
    const std::uint64_t first = b_.rowStart[k];
    const std::size_t count = b_.rowEntries(k);
    std::copy_n(b_.column.data() + first, count, column);
    for (std::size_t i = 0; i < count; ++i)
      value[i] = ring.add(Ring::zero, ring.multiply(a, b_.value[first + i]));
    return count;
  }

  /// `few`: if not empty, the columns that may be. Where a row of B is much longer they are looked up in it.
  template <class MayBe>
  std::size_t multiplySummed(Ring& ring, const std::uint32_t* k, const V* a, std::size_t count,
                             std::uint32_t* column, V* value, MayBe&& mayBe,
                             std::span<const std::uint32_t> few = {})
  {
    constexpr std::uint64_t muchLonger = 16; // a look-up costs about as much as so many entries
    std::uint32_t low = ~0u, high = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t first = b_.rowStart[k[i]], last = b_.rowStart[k[i] + 1];
      if (first == last)
        continue;
      const std::uint32_t* const columnsOfB = b_.column.data();
      low = std::min(low, columnsOfB[first]);
      high = std::max(high, columnsOfB[last - 1]);
      const V factor = a[i];
      V* const sums = sums_.data();
      const auto add = [&](std::uint32_t c, std::uint64_t j) {
        sums[c] = ring.add(sums[c], ring.multiply(factor, b_.value[j]));
        seen_.add(c);
      };
      if (!few.empty() && last - first > muchLonger * few.size()) {
        const std::uint32_t* at = columnsOfB + first;
        for (const std::uint32_t c : few) {
          at = std::lower_bound(at, columnsOfB + last, c);
          if (at == columnsOfB + last)
            break;
          if (*at == c)
            add(c, static_cast<std::uint64_t>(at - columnsOfB));
        }
      } else {
        for (std::uint64_t j = first; j < last; ++j)
          if (mayBe(columnsOfB[j]))
            add(columnsOfB[j], j);
      }
    }
    std::size_t at = 0;
    if (low <= high)
      seen_.drain(low, high, [&](std::uint32_t c) {
        column[at] = c;
        value[at++] = sums_[c];
        sums_[c] = Ring::zero;
      });
    return at;
  }

  /// The place of column c in the table, or the free place where it belongs.
  std::size_t placeOf(std::uint32_t c) const
  {
    std::size_t place = c * std::size_t(0x9e3779b1) & mask_;
    while (keys_[place] != c && keys_[place] != noColumn)
      place = (place + 1) & mask_;
    return place;
  }

  /// Fills `found_` with all columns of the row that may be and the table with their sums.
  template <class MayBe>
  void hashRow(Ring& ring, const std::uint32_t* k, const V* a, std::size_t count, MayBe&& mayBe)
  {
    std::uint64_t products = 0;
    for (std::size_t i = 0; i < count; ++i)
      products += b_.rowEntries(k[i]);
    mask_ = std::bit_ceil(2 * std::min<std::uint64_t>(products, b_.columns) + 1) - 1;
    keys_.assign(mask_ + 1, noColumn);
    table_.resize(std::max(table_.size(), mask_ + 1));
    found_.clear();
    for (std::size_t i = 0; i < count; ++i)
      for (std::uint64_t j = b_.rowStart[k[i]]; j < b_.rowStart[k[i] + 1]; ++j) {
        const std::uint32_t c = b_.column[j];
        if (!mayBe(c))
          continue;
        const std::size_t place = placeOf(c);
        if (keys_[place] == noColumn) {
          keys_[place] = c;
          table_[place] = Ring::zero;
          found_.push_back(c);
        }
        table_[place] = ring.add(table_[place], ring.multiply(a[i], b_.value[j]));
      }
  }

  template <class MayBe>
  std::size_t multiplyHashed(Ring& ring, const std::uint32_t* k, const V* a, std::size_t count,
                             std::uint32_t* column, V* value, MayBe&& mayBe)
  {
    hashRow(ring, k, a, count, mayBe);
    std::sort(found_.begin(), found_.end());
    for (std::size_t i = 0; i < found_.size(); ++i) {
      column[i] = found_[i];
      value[i] = table_[placeOf(found_[i])];
    }
    return found_.size();
  }

  void gatherHashed(Ring& ring, const std::uint32_t* k, const V* a, std::size_t count,
                    const std::uint32_t* column, std::size_t columns, V* value)
  {
    hashRow(ring, k, a, count, [](std::uint32_t) { return true; });
    for (std::size_t i = 0; i < columns; ++i)
      value[i] = table_[placeOf(column[i])];
  }

  const CsrMatrix<V>& b_;
  bool summed_;
  std::vector<V> sums_; // for all columns; the semiring's zero between rows
  ColumnSet seen_;
  std::vector<std::uint64_t> masked_; // bits of the columns of a mask; 0 between rows
  std::size_t mask_ = 0;              // length of the table, a power of two, minus 1
  std::vector<std::uint32_t> keys_, found_;
  std::vector<V> table_;
};

}
