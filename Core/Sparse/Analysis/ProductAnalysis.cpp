#include "Core/Sparse/Analysis/ProductAnalysis.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Sparse/Rows/OrderedRows.h"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

constexpr std::size_t groupsPerChunk = TileLists::groupsPerChunk;

std::size_t groupsOf(const MatrixPattern& matrix)
{
  return (matrix.rows + tileSide - 1) / tileSide;
}

}

TileLists listTiles(const Context& context, const MatrixPattern& matrix)
{
  if (matrix.columns > largestTiledColumns)
    failAs(ExitCode::usage, "tiles", "a matrix of " + std::to_string(matrix.columns) + " columns",
           "up to " + std::to_string(largestTiledColumns) + " for tiles; rows take any");
  const std::size_t groups = groupsOf(matrix);
  TileLists lists;
  lists.start.resize(groups + 1);
  lists.columnsOfChunk.resize((groups + groupsPerChunk - 1) / groupsPerChunk);
  // For each column of tiles, the last group (from 1) with an entry there.
  using Stamps = std::vector<std::uint32_t>;
  Workspaces<Stamps> workspaces;
  forEachRange(context, groups, groupsPerChunk, [&](std::size_t first, std::size_t last) {
    auto stamps = workspaces.borrow([&] { return std::make_unique<Stamps>(matrix.columns / tileSide + 1); });
    std::vector<std::uint32_t> columns;
    for (std::size_t group = first; group < last; ++group) {
      const std::size_t before = columns.size(), lastRow = std::min((group + 1) * tileSide, matrix.rows);
      const auto stamp = static_cast<std::uint32_t>(group + 1);
      for (std::uint64_t i = matrix.rowStart[group * tileSide]; i < matrix.rowStart[lastRow]; ++i) {
        const std::uint32_t tile = matrix.column[i] / tileSide;
        if ((*stamps)[tile] == stamp)
          continue;
        (*stamps)[tile] = stamp;
        columns.push_back(tile);
      }
      lists.start[group + 1] = columns.size() - before;
    }
    lists.columnsOfChunk[first / groupsPerChunk] = std::move(columns);
    workspaces.giveBack(std::move(stamps));
  });
  std::partial_sum(lists.start.begin(), lists.start.end(), lists.start.begin());
  lists.entriesPerTile =
      lists.tiles() > 0 ? static_cast<double>(matrix.entries()) / static_cast<double>(lists.tiles()) : 0;
  return lists;
}

std::vector<std::uint64_t> countTilePairs(const Context& context, const TileLists& a, const TileLists& b)
{
  std::vector<std::uint64_t> pairs(a.groups());
  forEachRange(context, a.groups(), groupsPerChunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t group = first; group < last; ++group)
      for (const std::uint32_t tile : a.columns(group))
        pairs[group] += b.count(tile);
  });
  return pairs;
}

void checkFactors(std::size_t rowsOfA, std::size_t columnsOfA, std::size_t rowsOfB, std::size_t columnsOfB)
{
  if (columnsOfA != rowsOfB)
    failAs(ExitCode::usage, "A B",
           "A is " + std::to_string(rowsOfA) + " x " + std::to_string(columnsOfA) + " and B "
               + std::to_string(rowsOfB) + " x " + std::to_string(columnsOfB),
           "as many columns of A as rows of B");
}

ProductAnalysis analyseProduct(const Context& context, const MatrixPattern& a, const MatrixPattern& b)
{
  checkFactors(a.rows, a.columns, b.rows, b.columns);
  ProductAnalysis analysis;
  analysis.groupProducts.resize(groupsOf(a));
  analysis.groupBound.resize(groupsOf(a));
  forEachRange(context, a.rows, groupsPerChunk * tileSide, [&](std::size_t first, std::size_t last) {
    for (std::size_t row = first; row < last; ++row) {
      std::uint64_t products = 0;
      for (std::uint64_t i = a.rowStart[row]; i < a.rowStart[row + 1]; ++i) {
        const std::size_t k = a.column[i];
        if (k >= b.rows)
          failAs(ExitCode::unreadableInput, "A",
                 "row " + std::to_string(row) + " (from 0): column " + std::to_string(k)
                     + " is outside the matrix",
                 "columns from 0 to " + std::to_string(b.rows) + " - 1");
        products += b.rowStart[k + 1] - b.rowStart[k];
      }
      analysis.groupProducts[row / tileSide] += products;
      analysis.groupBound[row / tileSide] += std::min<std::uint64_t>(products, b.columns);
    }
  });
  analysis.products =
      std::accumulate(analysis.groupProducts.begin(), analysis.groupProducts.end(), std::uint64_t(0));
  analysis.bound = std::accumulate(analysis.groupBound.begin(), analysis.groupBound.end(), std::uint64_t(0));
  return analysis;
}

std::vector<std::size_t> chunkGroups(const ProductAnalysis& analysis, std::size_t first, std::size_t last)
{
  constexpr std::uint64_t productsPerChunk = 1 << 17;
  constexpr std::size_t mostGroupsAChunk = 512;
  std::vector<std::size_t> starts{first};
  std::uint64_t products = 0;
  for (std::size_t group = first; group < last; ++group) {
    products += analysis.groupProducts[group];
    if (products >= productsPerChunk || group + 1 - starts.back() == mostGroupsAChunk) {
      starts.push_back(group + 1);
      products = 0;
    }
  }
  if (starts.back() != last)
    starts.push_back(last);
  return starts;
}

std::vector<std::uint8_t> chooseTileGroups(const ProductAnalysis& analysis,
                                           const std::vector<std::uint64_t>& tilePairs, double productsAPair)
{
  std::vector<std::uint8_t> tiled(tilePairs.size());
  for (std::size_t group = 0; group < tiled.size(); ++group)
    tiled[group] = tilePairs[group] > 0
                   && static_cast<double>(analysis.groupProducts[group])
                          >= productsAPair * static_cast<double>(tilePairs[group]);
  return tiled;
}

}
