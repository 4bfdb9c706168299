#pragma once

#include "Core/Sparse/TSparse/TSparseTasks.h"

#include <cstdint>

namespace tessera {

/// The counting kernel: which entries each tile of C has, and how many. With tensor cores or without.
void countTSparse(const Context&, const BitmapTileView& a, const BitmapTileView& b, const TaskListOnCuda&,
                  bool tensorCores, TilePattern* patterns, std::uint32_t* counts);

/// The multiplication kernel: numbers of tile i go to number[first[i]] and on, in a tile row by row; sums are
/// those of half precision operands in single precision. If `notZero` is given, it receives which of them are
/// not zero.
void multiplyTSparse(const Context&, const BitmapTileView& a, const BitmapTileView& b, const TaskListOnCuda&,
                     bool tensorCores, const TilePattern* patterns, const std::uint64_t* first, float* number,
                     TilePattern* notZero);

/// Tiles of C, whose numbers lie where multiplyTSparse left them; those of `kept` are taken, others are left
/// out, and so are tiles without any.
struct TilesOfC {
  const std::uint32_t *rowStart, *column;
  const TilePattern *pattern, *kept;
  const std::uint64_t* first;
  const float* number;
};

/// Entries of each row of C.
void countRowsOfTiles(const Context&, const TilesOfC&, std::size_t rows, std::uint32_t* rowCounts);

/// Columns and values of C, times 2^(exponent of the row + that of the column).
void fillRowsOfTiles(const Context&, const TilesOfC&, const std::int32_t* rowExponent,
                     const std::int32_t* columnExponent, CsrOnCuda<float>& c);

}
