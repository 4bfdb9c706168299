#pragma once

#include "Core/Compute/Error.h"
#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Core/Sparse/Rows/RowEpilogue.h"
#include "Core/Sparse/Rows/RowProduct.h"
#include "Core/Sparse/SpGemmOptions.h"
#include "Core/Sparse/Tiles/TileMatrix.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace tessera {

/// The operand as it is multiplied: transposed if asked for, with rising columns in each row. Throws
/// Error(unreadableInput) `name: ...` if the arrays make no matrix.
template <class V>
CsrMatrix<V> preparedOperand(const Context&, const CsrMatrix<V>&, bool transpose, const std::string& name);

/// For each entry of the prepared operand: its number in the matrix as it was given. Empty if the order is
/// the same.
template <class V>
std::vector<std::uint64_t> preparedOrder(const Context&, const CsrMatrix<V>&, bool transpose,
                                         const std::string& name);
/// The values in that order.
template <class V>
Array<V> inOrder(const Array<V>& values, const std::vector<std::uint64_t>& order)
{
  if (order.empty())
    return values;
  Array<V> result(order.size());
  std::transform(order.begin(), order.end(), result.begin(), [&](std::uint64_t i) { return values[i]; });
  return result;
}

/// Throws Error(usage) `where: ...` unless there are as many values as the pattern of a plan has entries.
template <class V>
void checkNumbers(const std::string& where, const Array<V>& values, std::size_t entries)
{
  if (values.size() != entries)
    failAs(ExitCode::usage, where, std::to_string(values.size()) + " numbers",
           "as many as its pattern has entries, " + std::to_string(entries));
}

/// A product on the CPU, analysed and ready to be computed. SpGemm.h is the public interface to it.
template <class V>
class PreparedProduct {
public:
  PreparedProduct(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b, SpGemmOptions<V>);

  const SpGemmReport& report() const { return report_; }
  std::size_t groups() const { return analysis_.groupProducts.size(); }
  std::size_t entriesOfA() const { return a_.value.size(); }
  std::size_t entriesOfB() const { return b_.value.size(); }

  /// Rows 8 firstGroup .. 8 lastGroup - 1 of C. Where the limit has no room for C beside the tiles of B, they
  /// go by rows unless tiles were asked for; report() then says so.
  CsrMatrix<V> multiply(std::size_t firstGroup, std::size_t lastGroup);

  /// Cuts the groups of 8 rows into ranges whose rows of C fit into the memory limit in every case. Returns
  /// the first group of each range and, at the end, the number of groups.
  std::vector<std::size_t> rangeStarts() const;

  /// The values of C at the places of a known pattern.
  Array<V> valuesFor(const MatrixPattern& c);

  /// Replaces the values of A and B. They are in the order of the prepared operands.
  void replaceNumbers(const Array<V>& a, const Array<V>& b);

private:
  struct Workspace;

  void checkOptions() const;
  void choose();
  std::string whyNoTiles() const;
  std::string chooseByPattern(bool asked);
  const TileLists& tilesOfB() const { return a_.isSame(b_) ? tilesOfA_ : tilesOfB_; }
  void makeTiles();
  TileValues tileValues() const
  {
    return options_.semiring == Semiring::plusPair ? TileValues::ones
           : options_.semiring == Semiring::orAnd  ? TileValues::oneIfNotZero
                                                   : TileValues::asTheyAre;
  }
  TileRow<V> tileRow(TileRowBuilder<V>& builder, std::size_t group) const
  {
    if (!tilesAreThoseOfA_)
      return builder.build(a_, group, tilesOfA_.columns(group), tileValues());
    const std::uint64_t first = tiles_.rowStart[group];
    return {tiles_.rowStart[group + 1] - first, tiles_.column.data() + first, tiles_.bitmap.data() + first,
            tiles_.numbers.data() + first * tileSide * tileSide};
  }
  std::uint64_t maskEntries(std::size_t group) const;
  std::span<const std::uint32_t> tilesOfMask(std::size_t group, std::vector<std::uint32_t>& tiles) const;
  void computeTiles(Workspace&, std::size_t group) const;
  std::uint64_t memoryLimit() const;
  std::uint64_t memoryForC() const;
  CsrMatrix<V> multiplyAsChosen(std::size_t firstGroup, std::size_t lastGroup);
  template <class Ring>
  std::uint64_t makeRows(Workspace&, std::size_t firstRow, std::size_t lastRow, std::uint32_t* column,
                         V* value, std::uint64_t* counts) const;
  template <class Ring>
  void gatherRows(Workspace&, const MatrixPattern& c, std::size_t firstRow, std::size_t lastRow,
                  V* value) const;

  Context context_;
  SpGemmOptions<V> options_;
  CsrMatrix<V> a_, b_;
  std::optional<RowEpilogue<V>> epilogue_;
  ProductAnalysis analysis_;
  TileLists tilesOfA_, tilesOfB_;                           // tilesOfB_ is empty if B has the pattern of A
  std::optional<std::vector<std::uint8_t>> tiledByPattern_; // kept when the values are replaced
  std::vector<std::uint8_t> tiled_; // for each group of 8 rows: 1 if it is multiplied by tiles, 0 by rows
  TileMatrix<V> tiles_;             // the tiles of B
  bool tilesAreThoseOfA_ = false;
  SpGemmReport report_;
};

}
