#include "Core/Sparse/Analysis/TileStatistics.h"

#include "Core/Sparse/Rows/ColumnSet.h"
#include "Core/Sparse/Rows/OrderedRows.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr std::size_t sides = countedSides.size(), largestSide = countedSides.back(),
                      rowsPerChunk = 64 * largestSide;

/// How many tiles have so many entries.
using Histogram = std::array<std::uint64_t, largestSide * largestSide + 1>;

/// The tiles of some rows that follow each other.
class TileCounter {
public:
  explicit TileCounter(std::size_t columns)
  {
    for (std::size_t s = 0; s < sides; ++s)
      entries_[s].resize(columns / countedSides[s] + 1);
  }

  void add(std::uint32_t column)
  {
    for (std::size_t s = 0; s < sides; ++s)
      if (const std::uint32_t tile = column / countedSides[s]; entries_[s][tile]++ == 0)
        tiles_[s].push_back(tile);
  }

  /// Calls visit(s, tiles) where this row is the last one of tiles of countedSides[s].
  template <class Visit>
  void endRow(std::size_t row, std::size_t rows, Visit&& visit)
  {
    for (std::size_t s = 0; s < sides; ++s) {
      if ((row + 1) % countedSides[s] != 0 && row + 1 < rows)
        continue;
      for (const std::uint32_t tile : tiles_[s])
        ++histograms[s][std::exchange(entries_[s][tile], 0)];
      visit(s, tiles_[s]);
      tiles_[s].clear();
    }
  }

  std::array<Histogram, sides> histograms{};

private:
  std::array<std::vector<std::uint16_t>, sides> entries_; // of each tile of these rows
  std::array<std::vector<std::uint32_t>, sides> tiles_;   // columns of tiles with entries
};

TileStatistics statisticsOf(const Histogram& histogram)
{
  TileStatistics statistics;
  double entries = 0;
  for (std::size_t n = 1; n < histogram.size(); ++n) {
    statistics.tiles += histogram[n];
    entries += static_cast<double>(n * histogram[n]);
  }
  if (statistics.tiles == 0)
    return statistics;
  const double tiles = static_cast<double>(statistics.tiles);
  statistics.mean = entries / tiles;
  std::uint64_t below = 0;
  for (std::size_t n = 1; n < histogram.size(); ++n) {
    const double apart = static_cast<double>(n) - statistics.mean;
    statistics.deviation += apart * apart * static_cast<double>(histogram[n]) / tiles;
    for (const std::uint64_t middle : {(statistics.tiles - 1) / 2, statistics.tiles / 2})
      if (below <= middle && middle < below + histogram[n])
        statistics.median += static_cast<double>(n) / 2;
    below += histogram[n];
  }
  statistics.deviation = std::sqrt(statistics.deviation);
  return statistics;
}

/// Counts the tiles of a matrix of so many rows and columns: addRow(row, counter) adds the columns of a row,
/// and endOfTiles(s, group, tiles) sees the tiles of each group of countedSides[s] rows.
template <class AddRow, class EndOfTiles>
std::array<TileStatistics, sides> countTiles(const Context& context, std::size_t rows, std::size_t columns,
                                             AddRow&& addRow, EndOfTiles&& endOfTiles)
{
  std::array<Histogram, sides> all{};
  std::mutex mutex;
  Workspaces<TileCounter> counters;
  forEachRange(context, rows, rowsPerChunk, [&](std::size_t first, std::size_t last) {
    auto counter = counters.borrow([&] { return std::make_unique<TileCounter>(columns); });
    counter->histograms = {};
    for (std::size_t row = first; row < last; ++row) {
      addRow(row, *counter);
      counter->endRow(row, rows, [&](std::size_t s, const std::vector<std::uint32_t>& tiles) {
        endOfTiles(s, row / countedSides[s], tiles);
      });
    }
    const std::lock_guard lock(mutex);
    for (std::size_t s = 0; s < sides; ++s)
      std::ranges::transform(all[s], counter->histograms[s], all[s].begin(), std::plus<>());
    counters.giveBack(std::move(counter));
  });
  std::array<TileStatistics, sides> statistics;
  std::ranges::transform(all, statistics.begin(), statisticsOf);
  return statistics;
}

}

ProductTiles countProductTiles(const Context& context, const MatrixPattern& a, const MatrixPattern& b)
{
  ProductTiles tiles;
  const auto addRowOf = [](const MatrixPattern& matrix) {
    return [&matrix](std::size_t row, TileCounter& counter) {
      for (std::uint64_t i = matrix.rowStart[row]; i < matrix.rowStart[row + 1]; ++i)
        counter.add(matrix.column[i]);
    };
  };
  std::array<std::vector<std::uint32_t>, sides> tilesOfB; // of each group of rows
  for (std::size_t s = 0; s < sides; ++s)
    tilesOfB[s].resize(b.rows / countedSides[s] + 1);
  tiles.b = countTiles(context, b.rows, b.columns, addRowOf(b),
                       [&](std::size_t s, std::size_t group, const std::vector<std::uint32_t>& columns) {
                         tilesOfB[s][group] = static_cast<std::uint32_t>(columns.size());
                       });
  std::array<std::atomic<std::uint64_t>, sides> pairs{};
  tiles.a = countTiles(context, a.rows, a.columns, addRowOf(a),
                       [&](std::size_t s, std::size_t, const std::vector<std::uint32_t>& columns) {
                         for (const std::uint32_t k : columns)
                           pairs[s] += tilesOfB[s][k];
                       });
  std::ranges::copy(pairs, tiles.pairs.begin());
  Workspaces<ColumnSet> sets;
  const auto addRow = [&](std::size_t row, TileCounter& counter) {
    auto set = sets.borrow([&] { return std::make_unique<ColumnSet>(b.columns); });
    std::uint32_t first = ~0u, last = 0;
    for (std::uint64_t i = a.rowStart[row]; i < a.rowStart[row + 1]; ++i)
      for (std::uint64_t j = b.rowStart[a.column[i]]; j < b.rowStart[a.column[i] + 1]; ++j) {
        const std::uint32_t column = b.column[j];
        set->add(column);
        first = std::min(first, column);
        last = std::max(last, column);
      }
    if (first <= last)
      set->drain(first, last, [&](std::uint32_t column) { counter.add(column); });
    sets.giveBack(std::move(set));
  };
  tiles.product = countTiles(context, a.rows, b.columns, addRow, [](auto&&...) {});
  return tiles;
}

}
