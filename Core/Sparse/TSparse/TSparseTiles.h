#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/Tiles/TilePattern.h"

#include <cstdint>

namespace tessera {

/// A matrix in the storage format of tSparse, as kernels take it: its 8 x 8 tiles with an entry, in the order
/// of row and column of tiles, each as a bitmap and its values in half precision. The values of all tiles lie
/// in one array, tile after tile, and within a tile row by row.
struct BitmapTileView {
  const std::uint32_t* rowStart = nullptr;               // first tile of each row of tiles, and the end
  const std::uint32_t *row = nullptr, *column = nullptr; // place of each tile, in tiles
  const TilePattern* pattern = nullptr;
  const std::uint32_t* first = nullptr; // place of each tile's first value in `number`
  const std::uint16_t* number = nullptr;
};

/// The same matrix in device memory.
struct BitmapTilesOnCuda {
  Buffer<std::uint32_t> rowStart, row, column, first;
  Buffer<TilePattern> pattern;
  Buffer<std::uint16_t> number;
  std::uint32_t tiles = 0;

  BitmapTileView view() const
  {
    return {rowStart.span().data(), row.span().data(),   column.span().data(),
            pattern.span().data(),  first.span().data(), number.span().data()};
  }
  std::uint64_t bytes() const
  {
    return sizeof(std::uint32_t) * (rowStart.size() + 3 * row.size()) + sizeof(TilePattern) * pattern.size()
           + sizeof(std::uint16_t) * number.size();
  }
};

/// The exponents of the powers of two by which values are divided before rounding to half precision: one for
/// each row, or one for each column.
struct HalfScale {
  const std::int32_t* exponent = nullptr;
  bool ofColumns = false;
};

/// Makes the tiles of a matrix of `entries` entries, fewer than 2^32. `tilesOfGroups` has the number of tiles
/// in each group of 8 rows and one element more, as the analysis counts them; `tiles` is their sum. Sets
/// *notFinite to 1 if a value is infinite or not a number.
BitmapTilesOnCuda makeBitmapTilesOnCuda(const Context&, const CsrView<float>&, std::uint64_t entries,
                                        const HalfScale&, const std::uint32_t* tilesOfGroups,
                                        std::uint32_t tiles, std::uint32_t* notFinite);

}
