#include "Core/Sparse/ProductAnalysis.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Parallel.h"
#include "Core/Sparse/OrderedRows.h"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

constexpr std::size_t groupsPerChunk = 256;

std::size_t groupsOf(const MatrixPattern& matrix)
{
  return (matrix.rows + tileSide - 1) / tileSide;
}

/// Which group was the last with an entry in a column of tiles.
using Stamps = std::vector<std::uint32_t>;

/// Calls visit(column of the tile) for each tile of a group.
template <class Visit>
void visitTiles(const MatrixPattern& matrix, std::size_t group, Stamps& stamps, Visit&& visit)
{
  const std::size_t firstRow = group * tileSide, lastRow = std::min(firstRow + tileSide, matrix.rows);
  const auto stamp = static_cast<std::uint32_t>(group + 1);
  for (std::uint64_t i = matrix.rowStart[firstRow]; i < matrix.rowStart[lastRow]; ++i) {
    const std::uint32_t tile = matrix.column[i] / tileSide;
    if (stamps[tile] == stamp)
      continue;
    stamps[tile] = stamp;
    visit(tile);
  }
}

/// Calls body(group, stamps) for all groups.
template <class Body>
void forEachGroup(const Context& context, const MatrixPattern& matrix, Body&& body)
{
  Workspaces<Stamps> workspaces;
  forEachRange(context, groupsOf(matrix), groupsPerChunk, [&](std::size_t first, std::size_t last) {
    auto stamps = workspaces.borrow([&] { return std::make_unique<Stamps>(matrix.columns / tileSide + 1); });
    for (std::size_t group = first; group < last; ++group)
      body(group, *stamps);
    workspaces.giveBack(std::move(stamps));
  });
}

}

TileCounts countTiles(const Context& context, const MatrixPattern& matrix)
{
  if (matrix.columns > largestTiledColumns)
    throw Error(ExitCode::usage, "tiles: a matrix of " + std::to_string(matrix.columns) + " columns. Allowed: up to "
                                     + std::to_string(largestTiledColumns) + " for tiles; rows take any.");
  TileCounts counts;
  counts.perGroup.resize(groupsOf(matrix));
  forEachGroup(context, matrix, [&](std::size_t group, Stamps& stamps) {
    std::uint32_t tiles = 0;
    visitTiles(matrix, group, stamps, [&](std::uint32_t) { ++tiles; });
    counts.perGroup[group] = tiles;
  });
  counts.tiles = std::accumulate(counts.perGroup.begin(), counts.perGroup.end(), std::uint64_t(0));
  counts.entriesPerTile = counts.tiles > 0 ? static_cast<double>(matrix.entries()) / static_cast<double>(counts.tiles) : 0;
  return counts;
}

std::vector<std::uint64_t> countTilePairs(const Context& context, const MatrixPattern& a, const TileCounts& tilesOfB)
{
  std::vector<std::uint64_t> pairs(groupsOf(a));
  forEachGroup(context, a, [&](std::size_t group, Stamps& stamps) {
    std::uint64_t count = 0;
    visitTiles(a, group, stamps, [&](std::uint32_t tile) { count += tilesOfB.perGroup[tile]; });
    pairs[group] = count;
  });
  return pairs;
}

void checkFactors(std::size_t rowsOfA, std::size_t columnsOfA, std::size_t rowsOfB, std::size_t columnsOfB)
{
  if (columnsOfA != rowsOfB)
    throw Error(ExitCode::usage, "A B: A is " + std::to_string(rowsOfA) + " x " + std::to_string(columnsOfA) + " and B "
                                     + std::to_string(rowsOfB) + " x " + std::to_string(columnsOfB)
                                     + ". Allowed: as many columns of A as rows of B.");
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
          throw Error(ExitCode::unreadableInput, "A: row " + std::to_string(row) + " (from 0): column " + std::to_string(k)
                                                     + " is outside the matrix. Allowed: columns from 0 to "
                                                     + std::to_string(b.rows) + " - 1.");
        products += b.rowStart[k + 1] - b.rowStart[k];
      }
      analysis.groupProducts[row / tileSide] += products;
      analysis.groupBound[row / tileSide] += std::min<std::uint64_t>(products, b.columns);
    }
  });
  analysis.products = std::accumulate(analysis.groupProducts.begin(), analysis.groupProducts.end(), std::uint64_t(0));
  analysis.bound = std::accumulate(analysis.groupBound.begin(), analysis.groupBound.end(), std::uint64_t(0));
  return analysis;
}

std::vector<std::uint8_t> chooseTileGroups(const ProductAnalysis& analysis, const std::vector<std::uint64_t>& tilePairs)
{
  std::vector<std::uint8_t> tiled(tilePairs.size());
  for (std::size_t group = 0; group < tiled.size(); ++group)
    tiled[group] =
        tilePairs[group] > 0
        && static_cast<double>(analysis.groupProducts[group]) >= productsPerTilePair * static_cast<double>(tilePairs[group]);
  return tiled;
}

}
