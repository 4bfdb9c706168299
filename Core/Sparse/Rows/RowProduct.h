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

  /// Writes the row with rising columns and returns its number of entries. The row of A is given by its
  /// columns `k` and their values `a`.
  std::size_t multiply(Ring& ring, std::span<const std::uint32_t> k, const V* a, std::uint32_t* column,
                       V* value)
  {
    if (k.size() == 1)
      return multiplyOne(ring, k[0], a[0], column, value);
    return summed_ ? multiplySummed(ring, k, a, column, value) : multiplyHashed(ring, k, a, column, value);
  }

  /// Writes only those entries of the row that lie in the given columns, which rise.
  std::size_t multiply(Ring& ring, std::span<const std::uint32_t> k, const V* a,
                       std::span<const std::uint32_t> columns, std::uint32_t* column, V* value)
  {
    if (!summed_) {
      clearTable(columns.size());
      places_.resize(std::max(places_.size(), keys_.size()));
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const std::size_t at = placeOf(columns[i]);
        keys_[at] = columns[i];
        places_[at] = static_cast<std::uint32_t>(unread + i);
      }
      return multiplyAt(ring, k, a, columns, column, value, [&](std::uint32_t c) {
        const std::size_t at = placeOf(c);
        return keys_[at] == c ? places_[at] : 0;
      });
    }
    while (places_.size() < b_.columns)
      places_.push_back(places_.size() % unread);
    for (std::size_t i = 0; i < columns.size(); ++i)
      places_[columns[i]] = static_cast<std::uint32_t>(unread + i);
    const std::size_t made = multiplyAt(ring, k, a, columns, column, value,
                                        [places = places_.data()](std::uint32_t c) { return places[c]; });
    for (const std::uint32_t c : columns)
      places_[c] = c % unread;
    return made;
  }

private:
  static constexpr std::uint32_t unread = 8;
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

  /// Each of the columns has a sum of its own at placeIn(column). Products of other columns go to sums before
  /// `unread`, because a branch would often be mispredicted; they are several, so that additions need not
  /// wait for each other. Where a row of B is much longer, the columns are looked up in it.
  template <class PlaceIn>
  std::size_t multiplyAt(Ring& ring, std::span<const std::uint32_t> k, const V* a,
                         std::span<const std::uint32_t> columns, std::uint32_t* column, V* value,
                         PlaceIn&& placeIn)
  {
    constexpr std::uint64_t muchLonger = 16; // a look-up costs about as much as so many entries
    sumsAt_.assign(unread + columns.size(), Ring::zero);
    isMade_.assign(unread + columns.size(), 0);
    for (std::size_t i = 0; i < k.size(); ++i) {
      const auto columnsOfB = b_.columnsOf(k[i]);
      const V* const valueOfB = b_.value.data() + b_.rowStart[k[i]];
      const auto add = [&, factor = a[i], sums = sumsAt_.data(), isMade = isMade_.data()](std::size_t j) {
        const std::uint32_t place = placeIn(columnsOfB[j]);
        Ring one; // overflows where nobody reads do not count
        sums[place] = one.add(sums[place], one.multiply(factor, valueOfB[j]));
        isMade[place] = 1;
        ring.overflowed |= one.overflowed && place >= unread;
      };
      const std::size_t entries = columnsOfB.size();
      if (entries <= muchLonger * columns.size())
        for (std::size_t j = 0; j < entries; ++j)
          add(j);
      else
        for (auto at = columnsOfB.begin(); const std::uint32_t c : columns) {
          at = std::lower_bound(at, columnsOfB.end(), c);
          if (at == columnsOfB.end())
            break;
          if (*at == c)
            add(static_cast<std::size_t>(at - columnsOfB.begin()));
        }
    }
    std::size_t made = 0;
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (isMade_[unread + i]) {
        column[made] = columns[i];
        value[made++] = sumsAt_[unread + i];
      }
    return made;
  }

  std::size_t multiplySummed(Ring& ring, std::span<const std::uint32_t> k, const V* a, std::uint32_t* column,
                             V* value)
  {
    std::uint32_t low = ~0u, high = 0;
    for (std::size_t i = 0; i < k.size(); ++i) {
      const std::uint64_t first = b_.rowStart[k[i]], last = b_.rowStart[k[i] + 1];
      if (first == last)
        continue;
      const std::uint32_t* const columnsOfB = b_.column.data();
      low = std::min(low, columnsOfB[first]);
      high = std::max(high, columnsOfB[last - 1]);
      const V factor = a[i];
      V* const sums = sums_.data();
      for (std::uint64_t j = first; j < last; ++j) {
        const std::uint32_t c = columnsOfB[j];
        sums[c] = ring.add(sums[c], ring.multiply(factor, b_.value[j]));
        seen_.add(c);
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

  /// Empties the table, which then has room for so many columns.
  void clearTable(std::uint64_t columns)
  {
    mask_ = std::bit_ceil(2 * columns + 1) - 1;
    keys_.assign(mask_ + 1, noColumn);
  }

  std::size_t multiplyHashed(Ring& ring, std::span<const std::uint32_t> k, const V* a, std::uint32_t* column,
                             V* value)
  {
    std::uint64_t products = 0;
    for (std::size_t i = 0; i < k.size(); ++i)
      products += b_.rowEntries(k[i]);
    clearTable(std::min<std::uint64_t>(products, b_.columns));
    table_.resize(std::max(table_.size(), keys_.size()));
    found_.clear();
    for (std::size_t i = 0; i < k.size(); ++i)
      for (std::uint64_t j = b_.rowStart[k[i]]; j < b_.rowStart[k[i] + 1]; ++j) {
        const std::uint32_t c = b_.column[j];
        const std::size_t place = placeOf(c);
        if (keys_[place] == noColumn) {
          keys_[place] = c;
          table_[place] = Ring::zero;
          found_.push_back(c);
        }
        table_[place] = ring.add(table_[place], ring.multiply(a[i], b_.value[j]));
      }
    std::sort(found_.begin(), found_.end());
    for (std::size_t i = 0; i < found_.size(); ++i) {
      column[i] = found_[i];
      value[i] = table_[placeOf(found_[i])];
    }
    return found_.size();
  }

  const CsrMatrix<V>& b_;
  bool summed_;
  std::vector<V> sums_; // for all columns; the semiring's zero between rows
  ColumnSet seen_;
  std::vector<std::uint32_t> places_; // in `sumsAt_`; before `unread` between rows, where they are of columns
  std::vector<V> sumsAt_;
  std::vector<std::uint8_t> isMade_;
  std::size_t mask_ = 0; // length of the table, a power of two, minus 1
  std::vector<std::uint32_t> keys_, found_;
  std::vector<V> table_;
};

}
