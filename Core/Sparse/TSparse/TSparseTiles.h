#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/Tiles/TilePattern.h"

#include <cstdint>

namespace tessera {

/// A matrix as tSparse has it, for kernels: its 8 x 8 tiles that have an entry, by row and column of tiles,
/// each as a bitmap and its numbers. The numbers of all tiles lie one tile after the other, in a tile row by
/// row, in half precision.
struct BitmapTileView {
  const std::uint32_t* rowStart = nullptr;               // first tile of each row of tiles, and the end
  const std::uint32_t *row = nullptr, *column = nullptr; // of each tile, in tiles
  const TilePattern* pattern = nullptr;
  const std::uint32_t* first = nullptr; // its first number
  const std::uint16_t* number = nullptr;
};

/// The same, on a CUDA device.
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

/// What the numbers of a matrix are divided by before they are rounded to half: 2^exponent of their row or
/// column.
struct HalfScale {
  const std::int32_t* exponent = nullptr;
  bool ofColumns = false;
};

/// The tiles of a matrix of `entries` entries, fewer than 2^32. `tilesOfGroups` are those of each group of 8
/// rows and one more, as the analysis counts them, `tiles` their sum. Sets *notFinite to 1 if a number is
/// infinite or none.
BitmapTilesOnCuda makeBitmapTilesOnCuda(const Context&, const CsrView<float>&, std::uint64_t entries,
                                        const HalfScale&, const std::uint32_t* tilesOfGroups,
                                        std::uint32_t tiles, std::uint32_t* notFinite);

}
