#include "Core/Sparse/PreparedProduct.h"

#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Sparse/Numbers/HalfPrecision.h"
#include "Core/Sparse/Numbers/NumberChecks.h"
#include "Core/Sparse/Rows/OrderedRows.h"
#include "Core/Sparse/Tiles/TileProduct.h"

#include <numeric>

namespace tessera {
namespace {

/// Throws if a product or sum of the row left the range of 64-bit integers.
template <class Ring>
void checkOverflow(const Ring& ring, std::size_t row)
{
  if (ring.overflowed)
    failAs(ExitCode::usage, "precision int64",
           "row " + std::to_string(row + 1) + " of C: a product or sum is beyond 64 bits",
           "smaller integers, or precision f64");
}

}

template <class V>
struct PreparedProduct<V>::Workspace {
  Workspace(const CsrMatrix<V>& a, const CsrMatrix<V>& b, const TileMatrix<V>& tiles, bool withTiles)
  {
    if (withTiles) {
      tileProduct.emplace(tiles, b.columns);
      tileRow.emplace(a.columns);
    }
  }
  std::optional<TileProduct<V>> tileProduct;
  std::optional<TileRowBuilder<V>> tileRow; // for tiles of A, unless A is B
  std::vector<std::uint32_t> tilesOfMask;
  std::optional<std::size_t> computed; // the group that tileProduct holds
  std::shared_ptr<void> rowProduct;    // a RowProduct<V, Ring>, made when the first row needs it
  std::vector<std::pair<std::uint32_t, V>> scratch;
  std::vector<std::uint32_t> columns;

  template <class Ring>
  RowProduct<V, Ring>& rows(const CsrMatrix<V>& b)
  {
    if (!rowProduct)
      rowProduct = std::make_shared<RowProduct<V, Ring>>(b);
    return *static_cast<RowProduct<V, Ring>*>(rowProduct.get());
  }
};

template <class V>
CsrMatrix<V> preparedOperand(const Context& context, const CsrMatrix<V>& matrix, bool transpose,
                             const std::string& name)
{
  const bool sorted = checkMatrix(context, matrix, name);
  if (transpose)
    return transposed(context, matrix);
  return sorted ? matrix : withSortedRows(context, matrix);
}

template <class V>
std::vector<std::uint64_t> preparedOrder(const Context& context, const CsrMatrix<V>& matrix, bool transpose,
                                         const std::string& name)
{
  if (!transpose && checkMatrix(context, matrix, name))
    return {};
  CsrMatrix<std::int64_t> numbered;
  static_cast<MatrixPattern&>(numbered) = matrix;
  numbered.value = Array<std::int64_t>(matrix.value.size());
  std::iota(numbered.value.begin(), numbered.value.end(), 0);
  const CsrMatrix<std::int64_t> prepared = preparedOperand(context, numbered, transpose, name);
  return {prepared.value.begin(), prepared.value.end()};
}

template <class V>
PreparedProduct<V>::PreparedProduct(const Context& context, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                                    SpGemmOptions<V> options)
    : context_(context), options_(std::move(options)),
      a_(preparedOperand(context, a, options_.transposeA, "A"))
{
  const bool same =
      a.isSame(b) && a.value.data() == b.value.data() && options_.transposeA == options_.transposeB;
  b_ = same ? a_ : preparedOperand(context, b, options_.transposeB, "B");
  analysis_ = analyseProduct(context, a_, b_);
  checkOptions();
  std::vector<std::int32_t> rowExponent, columnExponent;
  if constexpr (std::is_same_v<V, float>)
    if (options_.half) {
      HalfScaled halfA = halfScaledRows(context, a_), halfB = halfScaledColumns(context, b_);
      a_ = std::move(halfA.matrix);
      b_ = std::move(halfB.matrix);
      rowExponent = std::move(halfA.exponent);
      columnExponent = std::move(halfB.exponent);
    }
  epilogue_.emplace(options_, std::move(rowExponent), std::move(columnExponent));
  report_.products = analysis_.products;
  report_.groups = groups();
  choose();
  for (std::size_t group = 0; group < groups(); ++group) {
    std::uint64_t& bound = analysis_.groupBound[group];
    if (!tiled_[group]) // tiles make their rows before these are masked
      bound = std::min(bound, maskEntries(group));
    for (std::size_t row = group * tileSide; row < std::min((group + 1) * tileSide, a_.rows); ++row)
      bound += epilogue_->extraEntries(row);
  }
  report_.entriesBound =
      std::accumulate(analysis_.groupBound.begin(), analysis_.groupBound.end(), std::uint64_t(0));
  if (report_.tileGroups > 0)
    makeTiles();
}

template <class V>
void PreparedProduct<V>::checkOptions() const
{
  if (options_.algorithm == SpGemmAlgorithm::tsparse)
    throw Error(ExitCode::device,
                "A B: algorithm tsparse: it needs a CUDA device. Allowed on the CPU: auto, tiles or rows.");
  checkOptionsOf(context_, a_.rows, b_.columns, options_);
}

/// The reason why no group may be multiplied by tiles; empty if tiles are possible.
template <class V>
std::string PreparedProduct<V>::whyNoTiles() const
{
  if (options_.semiring == Semiring::minPlus || options_.semiring == Semiring::maxMin)
    return "tiles add and multiply; this semiring does not";
  if (std::max(a_.columns, b_.columns) > largestTiledColumns)
    return "more than " + std::to_string(largestTiledColumns) + " columns";
  if (options_.semiring == Semiring::plusTimes
      && !(allFinite(context_, a_.value) && allFinite(context_, b_.value)))
    return "some numbers are not finite";
  if constexpr (std::is_same_v<V, std::int64_t>)
    if (options_.semiring == Semiring::plusTimes && !sumsFitInt64(context_, a_, b_))
      return "sums may be beyond 64 bits, which rows find out";
  return "";
}

/// The entries that the mask leaves in a group of 8 rows at most.
template <class V>
std::uint64_t PreparedProduct<V>::maskEntries(std::size_t group) const
{
  if (!options_.mask || options_.complementMask)
    return ~std::uint64_t(0);
  const auto& start = options_.mask->rowStart;
  return start[std::min((group + 1) * tileSide, a_.rows)] - start[group * tileSide];
}

/// The columns of the tiles that the mask has in a group of 8 rows.
template <class V>
std::span<const std::uint32_t> PreparedProduct<V>::tilesOfMask(std::size_t group,
                                                               std::vector<std::uint32_t>& tiles) const
{
  tiles.clear();
  const MatrixPattern& mask = *options_.mask;
  for (std::uint64_t i = mask.rowStart[group * tileSide];
       i < mask.rowStart[std::min((group + 1) * tileSide, a_.rows)]; ++i)
    if (const auto tile = static_cast<std::uint32_t>(mask.column[i] / tileSide);
        tiles.empty() || tiles.back() != tile)
      tiles.push_back(tile);
  std::ranges::sort(tiles); // a tile of several rows is there several times
  return tiles;
}

template <class V>
void PreparedProduct<V>::choose()
{
  tiled_.assign(groups(), 0);
  if (options_.algorithm == SpGemmAlgorithm::rows) {
    report_.choice = "rows, as asked";
    return;
  }
  const bool asked = options_.algorithm == SpGemmAlgorithm::tiles;
  if (const std::string why = whyNoTiles(); !why.empty()) {
    if (asked)
      failAs(ExitCode::usage, "A B", "algorithm tiles: " + why, "auto or rows");
    report_.choice = "rows: " + why;
    return;
  }
  if (!tiledByPattern_)
    if (const std::string why = chooseByPattern(asked); !why.empty()) {
      report_.choice = "rows: " + why;
      return;
    }
  tiled_ = *tiledByPattern_;
  report_.tileGroups = static_cast<std::uint64_t>(std::count(tiled_.begin(), tiled_.end(), 1));
  report_.choice = asked ? "tiles, as asked"
                         : std::to_string(report_.tileGroups) + " of " + std::to_string(report_.groups)
                               + " groups of 8 rows by tiles, the others by rows";
}

/// The choice that does not depend on the values. Returns why no group may be multiplied by tiles, empty if
/// tiles are possible.
template <class V>
std::string PreparedProduct<V>::chooseByPattern(bool asked)
{
  tilesOfA_ = listTiles(context_, a_);
  if (!a_.isSame(b_))
    tilesOfB_ = listTiles(context_, b_);
  report_.entriesPerTileA = tilesOfA_.entriesPerTile;
  report_.entriesPerTileB = tilesOfB().entriesPerTile;
  const std::uint64_t tileBytes = tilesOfB().tiles() * tileSide * tileSide * sizeof(V);
  if (tileBytes > memoryLimit() / 2) {
    const std::string why =
        "tiles of B would take " + std::to_string(tileBytes >> 20) + " MiB, more than half of the memory";
    if (asked)
      failAs(ExitCode::usage, "A B", "algorithm tiles: " + why, "auto or rows, or a larger memory limit");
    return why;
  }
  if (asked)
    tiledByPattern_.emplace(groups(), 1);
  else
    tiledByPattern_ = chooseTileGroups(analysis_, countTilePairs(context_, tilesOfA_, tilesOfB()),
                                       (options_.mask ? productsPerTilePairMasked : productsPerTilePair));
  if (std::ranges::count(*tiledByPattern_, 1) == 0)
    tilesOfA_ = tilesOfB_ = {}; // the lists of a scattered matrix take a third of its memory
  return "";
}

template <class V>
void PreparedProduct<V>::makeTiles()
{
  std::vector<std::uint8_t> wanted(tilesOfB().groups()); // 1: the product needs this row of tiles of B
  for (std::size_t group = 0; group < groups(); ++group)
    if (tiled_[group])
      for (const std::uint32_t tile : tilesOfA_.columns(group))
        wanted[tile] = 1;
  tilesAreThoseOfA_ = a_.isSame(b_) && a_.value.data() == b_.value.data();
  for (std::size_t group = 0; tilesAreThoseOfA_ && group < groups(); ++group)
    wanted[group] |= tiled_[group];
  tiles_ = tilesOf(context_, b_, tilesOfB(), wanted, tileValues());
}

/// Makes workspace.tileProduct hold a group.
template <class V>
void PreparedProduct<V>::computeTiles(Workspace& workspace, std::size_t group) const
{
  if (workspace.computed == group)
    return;
  TileRow<V> row = tileRow(*workspace.tileRow, group);
  if (options_.mask && !options_.complementMask)
    row.wanted = tilesOfMask(group, workspace.tilesOfMask);
  workspace.tileProduct->compute(row);
  workspace.computed = group;
}

template <class V>
template <class Ring>
std::uint64_t PreparedProduct<V>::makeRows(Workspace& workspace, std::size_t firstRow, std::size_t lastRow,
                                           std::uint32_t* column, V* value, std::uint64_t* counts) const
{
  Ring ring;
  const bool isWithinMask = options_.mask && !options_.complementMask;
  std::uint64_t at = 0;
  for (std::size_t row = firstRow; row < lastRow; ++row) {
    const std::size_t group = row / tileSide;
    std::size_t count = 0;
    if (tiled_[group]) {
      computeTiles(workspace, group);
      count = workspace.tileProduct->emitRow(row % tileSide, column + at, value + at);
      for (std::size_t i = 0; options_.semiring == Semiring::orAnd && i < count; ++i)
        value[at + i] = value[at + i] != 0;
    } else {
      RowProduct<V, Ring>& product = workspace.template rows<Ring>(b_);
      const V* const a = a_.value.data() + a_.rowStart[row];
      count = isWithinMask ? product.multiply(ring, a_.columnsOf(row), a, options_.mask->columnsOf(row),
                                              column + at, value + at)
                           : product.multiply(ring, a_.columnsOf(row), a, column + at, value + at);
    }
    if (tiled_[group] || !isWithinMask)
      count = epilogue_->masked(row, column + at, value + at, count);
    count = epilogue_->apply(ring, row, column + at, value + at, count, workspace.scratch);
    checkOverflow(ring, row);
    counts[row - firstRow] = count;
    at += count;
  }
  return at;
}

template <class V>
std::uint64_t PreparedProduct<V>::memoryLimit() const
{
  return options_.maxMemoryBytes > 0 ? options_.maxMemoryBytes
                                     : static_cast<std::uint64_t>(std::min(availableMemoryBytes(), 0x1p62));
}

template <class V>
std::uint64_t PreparedProduct<V>::memoryForC() const
{
  const std::uint64_t tileBytes =
      tiles_.numbers.size()
      * sizeof(V); // subtracted from a given limit only: the system's figure already contains them
  return options_.maxMemoryBytes > 0 ? options_.maxMemoryBytes - tileBytes : memoryLimit();
}

template <class V>
CsrMatrix<V> PreparedProduct<V>::multiply(std::size_t firstGroup, std::size_t lastGroup)
{
  try {
    return multiplyAsChosen(firstGroup, lastGroup);
  } catch (const Error& error) {
    if (error.code() != ExitCode::outOfMemory || report_.tileGroups == 0
        || options_.algorithm == SpGemmAlgorithm::tiles)
      throw;
  }
  tiles_ = {};
  tiled_.assign(groups(), 0);
  tiledByPattern_ = tiled_;
  report_.tileGroups = 0;
  report_.choice = "rows: C and the tiles of B do not fit into the memory together";
  return multiplyAsChosen(firstGroup, lastGroup);
}

template <class V>
CsrMatrix<V> PreparedProduct<V>::multiplyAsChosen(std::size_t firstGroup, std::size_t lastGroup)
{
  const std::size_t rowOffset = firstGroup * tileSide;
  std::vector<std::size_t> starts = chunkGroups(analysis_, firstGroup, lastGroup);
  std::vector<std::uint64_t> bounds;
  for (std::size_t chunk = 0; chunk + 1 < starts.size(); ++chunk)
    bounds.push_back(std::accumulate(analysis_.groupBound.begin() + starts[chunk],
                                     analysis_.groupBound.begin() + starts[chunk + 1], std::uint64_t(0)));
  for (std::size_t& start : starts)
    start = std::min(start * tileSide, a_.rows) - std::min(rowOffset, a_.rows);
  OrderedRows<V> rows(context_, b_.columns, std::move(starts), std::move(bounds), memoryForC());
  Workspaces<Workspace> workspaces;
  return withSemiring<V>(options_.semiring, [&]<class Ring>(Ring) {
    return rows.run([&](std::size_t first, std::size_t last, RowRoom<V> room, std::uint64_t* counts) {
      auto workspace = workspaces.borrow(
          [&] { return std::make_unique<Workspace>(a_, b_, tiles_, report_.tileGroups > 0); });
      const std::uint64_t made =
          makeRows<Ring>(*workspace, rowOffset + first, rowOffset + last, room.column, room.value, counts);
      workspaces.giveBack(std::move(workspace));
      return made;
    });
  });
}

template <class V>
std::vector<std::size_t> PreparedProduct<V>::rangeStarts() const
{
  const std::uint64_t limit = memoryForC(), entryBytes = sizeof(std::uint32_t) + sizeof(V);
  std::vector<std::size_t> starts{0};
  std::uint64_t bytes = 0;
  for (std::size_t group = 0; group < groups(); ++group) {
    const std::uint64_t needed = analysis_.groupBound[group] * entryBytes + tileSide * sizeof(std::uint64_t);
    if (bytes > 0 && bytes + needed > limit) {
      starts.push_back(group);
      bytes = 0;
    }
    bytes += needed;
  }
  starts.push_back(groups());
  return starts;
}

template <class V>
template <class Ring>
void PreparedProduct<V>::gatherRows(Workspace& workspace, const MatrixPattern& c, std::size_t firstRow,
                                    std::size_t lastRow, V* value) const
{
  Ring ring;
  for (std::size_t row = firstRow; row < lastRow; ++row) {
    const std::size_t group = row / tileSide, count = c.rowEntries(row);
    const std::uint64_t start = c.rowStart[row];
    if (tiled_[group]) {
      computeTiles(workspace, group);
      workspace.tileProduct->gatherRow(row % tileSide, c.column.data() + start, count, value + start);
    } else {
      workspace.columns.resize(std::max(workspace.columns.size(), count));
      workspace.template rows<Ring>(b_).multiply(ring, a_.columnsOf(row), a_.value.data() + a_.rowStart[row],
                                                 c.columnsOf(row), workspace.columns.data(), value + start);
    }
    for (std::uint64_t i = start; i < start + count; ++i) {
      if (options_.semiring == Semiring::orAnd)
        value[i] = value[i] != 0;
      if (options_.scale)
        value[i] = ring.product(*options_.scale, value[i]);
    }
    checkOverflow(ring, row);
  }
}

template <class V>
Array<V> PreparedProduct<V>::valuesFor(const MatrixPattern& c)
{
  Array<V> value(c.entries());
  const std::vector<std::size_t> starts = chunkGroups(analysis_, 0, groups());
  Workspaces<Workspace> workspaces;
  withSemiring<V>(options_.semiring, [&]<class Ring>(Ring) {
    const auto gather = [&](std::size_t chunk) {
      auto workspace = workspaces.borrow(
          [&] { return std::make_unique<Workspace>(a_, b_, tiles_, report_.tileGroups > 0); });
      gatherRows<Ring>(*workspace, c, starts[chunk] * tileSide,
                       std::min(starts[chunk + 1] * tileSide, a_.rows), value.data());
      workspaces.giveBack(std::move(workspace));
    };
    forEachChunk(context_, starts.size() - 1, gather);
  });
  return value;
}

template <class V>
void PreparedProduct<V>::replaceNumbers(const Array<V>& a, const Array<V>& b)
{
  a_.value = a;
  b_.value = b;
  report_.tileGroups = 0;
  choose(); // values that are not finite are multiplied by rows
  if (report_.tileGroups > 0)
    makeTiles();
}

TESSERA_INSTANTIATE_CLASS_FOR_NUMBERS(PreparedProduct);
TESSERA_INSTANTIATE_FOR_NUMBERS(preparedOperand<V>, preparedOrder<V>);

}
