#pragma once

#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Core/Sparse/Rows/RowEpilogue.h"
#include "Core/Sparse/SpGemmOptions.h"
#include "Core/Sparse/Tiles/TileMatrix.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera {

/// A as it is multiplied: transposed if that is asked for, its columns rising. Throws Error(unreadableInput)
/// if it is no matrix.
template <class V>
CsrMatrix<V> preparedOperand(const Context&, const CsrMatrix<V>&, bool transpose, const std::string& name);

/// A product on the CPU, analysed and ready to be computed: the work behind SpGemm.h.
template <class V>
class PreparedProduct {
public:
  PreparedProduct(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b, SpGemmOptions<V>);

  const SpGemmReport& report() const { return report_; }
  std::size_t groups() const { return analysis_.groupProducts.size(); }
  std::size_t entriesOfA() const { return a_.value.size(); }
  std::size_t entriesOfB() const { return b_.value.size(); }

  /// Rows 8 firstGroup .. 8 lastGroup - 1 of C.
  CsrMatrix<V> multiply(std::size_t firstGroup, std::size_t lastGroup);

  /// First groups of ranges of rows whose entries fit into the memory limit whatever they are, and the end.
  std::vector<std::size_t> rangeStarts() const;

  /// The numbers of C where its pattern is known.
  Array<V> valuesFor(const MatrixPattern& c);

  /// Other numbers for A and B, of prepared operands.
  void replaceNumbers(const Array<V>& a, const Array<V>& b);

private:
  struct Workspace;

  void checkOptions() const;
  void choose();
  std::string whyNoTiles() const;
  const TileLists& tilesOfB() const { return a_.isSame(b_) ? tilesOfA_ : tilesOfB_; }
  void makeTiles();
  TileValues tileValues() const;
  TileRow<V> tileRow(TileRowBuilder<V>&, std::size_t group) const;
  std::size_t computeTiles(Workspace&, std::size_t group, std::size_t lastGroup) const;
  std::uint64_t memoryLimit() const;
  std::uint64_t memoryForC() const;
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
  TileLists tilesOfA_, tilesOfB_;   // the latter empty if B has the pattern of A
  std::vector<std::uint8_t> tiled_; // which groups of 8 rows go by tiles
  TileMatrix<V> tiles_;             // of B
  bool tilesAreThoseOfA_ = false;
  SpGemmReport report_;
};

}
