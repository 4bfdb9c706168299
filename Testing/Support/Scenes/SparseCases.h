#pragma once

#include "Core/Sparse/CsrMatrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace tessera::testing {

/// A small generator of our own: the same numbers with every standard library.
class Dice {
public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t next()
  {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ >> 8;
  }
  std::uint64_t below(std::uint64_t limit) { return next() % limit; }
  double unit() { return static_cast<double>(next() & 0xffffffff) / 4294967296.0; }

private:
  std::uint64_t state_;
};

/// Entries by place, in the order of rows and columns.
template <class V>
using EntryMap = std::map<std::pair<std::uint32_t, std::uint32_t>, V>;

template <class V>
CsrMatrix<V> matrixOf(std::size_t rows, std::size_t columns, const EntryMap<V>& entries)
{
  std::vector<std::uint64_t> start(rows + 1);
  std::vector<std::uint32_t> column;
  std::vector<V> value;
  for (const auto& [place, v] : entries) {
    ++start[place.first + 1];
    column.push_back(place.second);
    value.push_back(v);
  }
  for (std::size_t row = 0; row < rows; ++row)
    start[row + 1] += start[row];
  CsrMatrix<V> matrix;
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.rowStart = start;
  matrix.column = column;
  matrix.value = value;
  return matrix;
}

template <class V>
EntryMap<V> entriesOf(const CsrMatrix<V>& matrix)
{
  EntryMap<V> entries;
  for (std::size_t row = 0; row < matrix.rows; ++row)
    for (std::uint64_t i = matrix.rowStart[row]; i < matrix.rowStart[row + 1]; ++i)
      entries[{static_cast<std::uint32_t>(row), matrix.column[i]}] = matrix.value[i];
  return entries;
}

/// About `perRow` entries a row at random places, values from the generator.
template <class V, class Value>
CsrMatrix<V> randomMatrix(std::size_t rows, std::size_t columns, double perRow, std::uint64_t seed,
                          Value value)
{
  Dice dice(seed);
  EntryMap<V> entries;
  for (std::size_t i = 0; columns > 0 && i < static_cast<std::size_t>(perRow * static_cast<double>(rows));
       ++i)
    entries[{static_cast<std::uint32_t>(dice.below(rows)), static_cast<std::uint32_t>(dice.below(columns))}] =
        value(dice);
  return matrixOf(rows, columns, entries);
}

/// Values in [0.5, 1.5].
inline CsrMatrix<double> randomMatrix(std::size_t rows, std::size_t columns, double perRow,
                                      std::uint64_t seed)
{
  return randomMatrix<double>(rows, columns, perRow, seed, [](Dice& dice) { return 0.5 + dice.unit(); });
}

/// Whole numbers whose sums every method and precision has exactly.
template <class V>
V smallWhole(Dice& dice)
{
  return static_cast<V>(static_cast<int>(dice.below(9)) - 4);
}

template <class V>
CsrMatrix<V> wholeMatrix(std::size_t rows, std::size_t columns, double perRow, std::uint64_t seed)
{
  return randomMatrix<V>(rows, columns, perRow, seed, smallWhole<V>);
}

/// Some zeros, some below zero, many equal: what minima and maxima and "or" stumble over.
template <class V>
CsrMatrix<V> smallNumbers(std::size_t rows, std::size_t columns, std::uint64_t seed)
{
  return randomMatrix<V>(rows, columns, 12, seed,
                         [](Dice& dice) { return static_cast<V>(dice.below(7)) - 3; });
}

/// Equal in every bit and in the order of entries.
template <class V>
void expectSame(const CsrMatrix<V>& got, const CsrMatrix<V>& expected)
{
  ASSERT_EQ(got.rows, expected.rows);
  ASSERT_EQ(got.columns, expected.columns);
  ASSERT_EQ(got.rowStart.toVector(), expected.rowStart.toVector());
  ASSERT_EQ(got.column.toVector(), expected.column.toVector());
  ASSERT_EQ(got.value.size(), expected.value.size());
  for (std::size_t i = 0; i < got.value.size(); ++i)
    ASSERT_TRUE(std::memcmp(&got.value[i], &expected.value[i], sizeof(V)) == 0)
        << "entry " << i << ": " << got.value[i] << " is not " << expected.value[i];
}

}
