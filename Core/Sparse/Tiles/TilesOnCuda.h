#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/Tiles/TilePattern.h"

#include <cstdint>

namespace tessera {

/// The two numbers of a tile that one lane of a warp holds as an operand of the tensor cores.
template <class V>
struct alignas(2 * sizeof(V)) TilePair {
  V low, high; // rows r and r + 4
};

/// A matrix in 8 x 8 tiles, by rows of tiles, as kernels take it; only tiles with an entry are stored. Pair 4
/// c + r of the 32 pairs of a tile holds the numbers of rows r and r + 4 in column c, which are 0 where there
/// is no entry.
template <class V>
struct TileView {
  const std::uint32_t* rowStart = nullptr; // rows of tiles + 1 elements
  const std::uint32_t* column = nullptr;   // one for each tile, in tiles
  const TilePattern* pattern = nullptr;    // one for each tile
  const TilePair<V>* pairs = nullptr;      // 32 for each tile
};

/// The same matrix of tiles in device memory. V is float or double.
template <class V>
struct TilesOnCuda {
  /// Memory for so many tiles of a matrix of so many rows.
  TilesOnCuda(const Context&, std::size_t rows, std::uint32_t tiles);

  Buffer<std::uint32_t> rowStart, column;
  Buffer<TilePattern> pattern;
  Buffer<TilePair<V>> pairs;

  TileView<V> view() const
  {
    return {rowStart.span().data(), column.span().data(), pattern.span().data(), pairs.span().data()};
  }
  /// Bytes for `tiles` tiles of a matrix of `rows` rows.
  static std::uint64_t bytes(std::size_t rows, std::uint64_t tiles);
};

/// Makes the tiles of a matrix. `tilesOfGroups` has the number of tiles in each group of 8 rows and one
/// element more, as the analysis counts them; `tiles` is their sum. Sets *notFinite to 1 if a value is
/// infinite or not a number. If `wanted` is given, only groups for which it is not 0 are read, and the tiles
/// of others are undefined.
template <class V>
TilesOnCuda<V> makeTilesOnCuda(const Context&, const CsrView<V>&, const std::uint32_t* tilesOfGroups,
                               std::uint32_t tiles, std::uint32_t* notFinite,
                               const std::uint8_t* wanted = nullptr);

/// Writes other values of a matrix with the same pattern to its tiles.
template <class V>
void refillTilesOnCuda(const Context&, const CsrView<V>&, TilesOnCuda<V>&, std::uint32_t* notFinite,
                       const std::uint8_t* wanted = nullptr);

/// The tiles of C that were kept while entries were counted, so that multiplying need not find them again.
struct KeptTileView {
  /// For each row of tiles its first kept tile, and their number; 0 if they were not kept.
  std::uint32_t *first, *count;
  std::uint32_t* column;
  TilePattern* pattern;
  unsigned long long* used; // tiles that asked for room
  std::uint32_t room;       // tiles there is room for
};

/// The kept tiles in device memory.
struct KeptTilesOnCuda {
  KeptTilesOnCuda(const Context&, std::size_t rows, std::uint32_t room);

  Buffer<std::uint32_t> first, count, column;
  Buffer<TilePattern> pattern;

  KeptTileView view(unsigned long long* used);
  static std::uint64_t bytes(std::size_t rows, std::uint32_t room);
};

/// Counts the entries of each row of C in the groups of 8 rows that `groups` lists. `rows` is the number of
/// rows of A; `rowCounts` has an element for each. Keeps tiles of C where there is room.
template <class V>
void countByTilesOnCuda(const Context&, const TileView<V>& a, const TileView<V>& b, std::size_t rows,
                        const std::uint32_t* groups, std::uint32_t groupCount, std::uint32_t* rowCounts,
                        const KeptTileView& kept);

/// Computes columns and values of C = A B in these groups by tensor cores, in double precision. All values of
/// A and B must be finite, because places without an entry are multiplied as zeros.
template <class V>
void multiplyByTilesOnCuda(const Context&, const TileView<V>& a, const TileView<V>& b,
                           const std::uint32_t* groups, std::uint32_t groupCount, const KeptTileView& kept,
                           CsrOnCuda<V>& c);

}
