#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/TilePattern.h"

#include <cstdint>

namespace tessera {

/// Two numbers of a tile that one lane of a warp holds as an operand of the tensor cores.
template <class V>
struct alignas(2 * sizeof(V)) TilePair {
  V low, high; // rows r and r + 4
};

/// A matrix in 8 x 8 tiles that have an entry, by rows of tiles, for kernels. Pair 4 c + r of the 32 of a tile holds the numbers of
/// rows r and r + 4, column c; where there is no entry it is 0.
template <class V>
struct TileView {
  const std::uint32_t* rowStart = nullptr; // rows of tiles + 1
  const std::uint32_t* column = nullptr;   // of tiles
  const TilePattern* pattern = nullptr;    // of each tile
  const TilePair<V>* pairs = nullptr;      // 32 of each tile
};

/// The same, on a CUDA device. V is float or double.
template <class V>
struct TilesOnCuda {
  /// Memory for so many tiles.
  TilesOnCuda(const Context&, std::size_t rows, std::uint32_t tiles);

  Buffer<std::uint32_t> rowStart, column;
  Buffer<TilePattern> pattern;
  Buffer<TilePair<V>> pairs;

  TileView<V> view() const { return {rowStart.span().data(), column.span().data(), pattern.span().data(), pairs.span().data()}; }
  /// What `tiles` tiles of `rows` rows take.
  static std::uint64_t bytes(std::size_t rows, std::uint64_t tiles);
};

/// The tiles of a matrix. `tilesOfGroups` are those of each group of 8 rows and one more, as the analysis counts them, `tiles`
/// their sum. Sets *notFinite to 1 if a number is infinite or none.
template <class V>
TilesOnCuda<V> makeTilesOnCuda(const Context&, const CsrView<V>&, const std::uint32_t* tilesOfGroups, std::uint32_t tiles,
                               std::uint32_t* notFinite);

/// Entries of each row of C in the groups of rows that `groups` lists, `rowCounts` has one number a row of A. `rows` are those of
/// A.
template <class V>
void countByTilesOnCuda(const Context&, const TileView<V>& a, const TileView<V>& b, std::size_t rows, const std::uint32_t* groups,
                        std::uint32_t groupCount, std::uint32_t* rowCounts);

/// Columns and values of C = A B in those groups, by tensor cores in double precision. All numbers of A and B are finite: what is
/// no entry takes part as a zero.
template <class V>
void multiplyByTilesOnCuda(const Context&, const TileView<V>& a, const TileView<V>& b, const std::uint32_t* groups,
                           std::uint32_t groupCount, CsrOnCuda<V>& c);

}
