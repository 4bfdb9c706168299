#pragma once

#include "Core/Sparse/TSparse/TSparseTasks.h"

#include <cstdint>

namespace tessera {

/// The counting kernel: finds the pattern of each tile of C and the number of its entries. It runs on tensor
/// cores or without them.
void countTSparse(const Context&, const BitmapTileView& a, const BitmapTileView& b, const TaskListOnCuda&,
                  bool tensorCores, TilePattern* patterns, std::uint32_t* counts);

/// The multiplication kernel: writes the values of tile i from number[first[i]] on, row by row. Operands have
/// half precision, sums single precision. If `notZero` is given, it receives the patterns of the values that
/// are not zero.
void multiplyTSparse(const Context&, const BitmapTileView& a, const BitmapTileView& b, const TaskListOnCuda&,
                     bool tensorCores, const TilePattern* patterns, const std::uint64_t* first, float* number,
                     TilePattern* notZero);

/// The tiles of C with the values that multiplyTSparse wrote. Only entries in `kept` become entries of C.
struct TilesOfC {
  const std::uint32_t *rowStart, *column;
  const TilePattern *pattern, *kept;
  const std::uint64_t* first;
  const float* number;
};

/// Counts the entries of each row of C.
void countRowsOfTiles(const Context&, const TilesOfC&, std::size_t rows, std::uint32_t* rowCounts);

/// Writes columns and values of C. Each value is multiplied by 2^(exponent of its row + exponent of its
/// column).
void fillRowsOfTiles(const Context&, const TilesOfC&, const std::int32_t* rowExponent,
                     const std::int32_t* columnExponent, CsrOnCuda<float>& c);

}
