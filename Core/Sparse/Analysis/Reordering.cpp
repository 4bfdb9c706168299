#include "Core/Sparse/Analysis/Reordering.h"

#include "Core/Compute/Log.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Core/Sparse/Analysis/ProductWork.h"
#include "Core/Sparse/Rows/ColumnSet.h"
#include "Core/Sparse/Rows/OrderedRows.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>

namespace tessera {
namespace {

constexpr std::uint32_t none = ~0u; // no row has this number, see largestMatrixSide
constexpr std::size_t rowsAtOnce = 1024;

bool areAlike(const MatrixPattern& matrix, std::size_t row, std::size_t other)
{
  return matrix.rowEntries(row) == matrix.rowEntries(other)
         && std::ranges::equal(matrix.columnsOf(row), matrix.columnsOf(other));
}

/// Whether two rows have three quarters of the longer one's columns in common, as in a band.
bool areNearlyAlike(const MatrixPattern& matrix, std::size_t row, std::size_t other)
{
  const auto of = matrix.columnsOf(row), ofOther = matrix.columnsOf(other);
  const std::size_t wanted = (3 * std::max(of.size(), ofOther.size()) + 3) / 4;
  std::vector<std::uint32_t> common;
  if (std::min(of.size(), ofOther.size()) >= wanted)
    std::ranges::set_intersection(of, ofOther, std::back_inserter(common));
  return common.size() >= wanted;
}

/// Whether half of some rows, taken at equal distances, have a row of equal pattern among their columns, or a
/// row that is nearly alike among some of them.
bool hasAlikeRows(const MatrixPattern& matrix)
{
  constexpr std::size_t wanted = 256, columnsTried = 8;
  const std::size_t step = std::max<std::size_t>(1, matrix.rows / wanted);
  std::size_t rows = 0, alike = 0;
  for (std::size_t row = 0; row < matrix.rows; row += step, ++rows) {
    const auto columns = matrix.columnsOf(row);
    bool isAlike =
        std::ranges::any_of(columns, [&](std::uint32_t c) { return c != row && areAlike(matrix, row, c); });
    for (std::size_t i = 0; !isAlike && i < columns.size(); i += columns.size() / columnsTried + 1)
      isAlike = columns[i] != row && areNearlyAlike(matrix, row, columns[i]);
    alike += isAlike;
  }
  return 2 * alike >= rows && rows > 0;
}

/// The rows of a matrix, joined where their patterns are equal and one has a column of the other's number.
/// Node and first row are one number.
class Nodes {
public:
  explicit Nodes(const MatrixPattern& matrix)
      : matrix_(matrix), first_(matrix.rows, none), next_(matrix.rows, none)
  {
    for (std::size_t row = 0; row < matrix.rows; ++row) {
      if (first_[row] != none)
        continue;
      ++count_;
      first_[row] = static_cast<std::uint32_t>(row);
      std::uint32_t last = first_[row];
      for (const std::uint32_t c : matrix.columnsOf(row))
        if (c > row && first_[c] == none && areAlike(matrix, row, c)) {
          first_[c] = static_cast<std::uint32_t>(row);
          last = next_[last] = c;
        }
    }
  }

  std::size_t count() const { return count_; }
  bool isNode(std::uint32_t row) const { return first_[row] == row; }
  /// The rows of a node are it, next(it), ..., until `none`.
  std::uint32_t next(std::uint32_t row) const { return next_[row]; }
  std::size_t degree(std::uint32_t node) const { return matrix_.rowEntries(node); }

  template <class Visit>
  void forEachNeighbour(std::uint32_t node, Visit&& visit) const
  {
    for (const std::uint32_t c : matrix_.columnsOf(node))
      if (isNode(c) && c != node)
        visit(c);
  }

private:
  const MatrixPattern& matrix_;
  std::vector<std::uint32_t> first_, next_;
  std::size_t count_ = 0;
};

class CuthillMcKee {
public:
  explicit CuthillMcKee(const Nodes& nodes, std::size_t rows)
      : nodes_(nodes), seen_(rows, 0), isNumbered_(rows, false)
  {
    for (std::uint32_t row = 0; row < rows; ++row)
      if (nodes.isNode(row) && !isNumbered_[row])
        addComponent(row);
    std::ranges::reverse(order_);
  }

  const std::vector<std::uint32_t>& order() const { return order_; }

private:
  /// Levels of nodes from a start: the nodes of the last level, and the number of levels.
  struct Levels {
    std::vector<std::uint32_t> last;
    std::size_t count = 0;
  };

  Levels levelsFrom(std::uint32_t start)
  {
    ++search_;
    Levels levels;
    std::vector<std::uint32_t> now{start};
    seen_[start] = search_;
    while (!now.empty()) {
      std::vector<std::uint32_t> then;
      for (const std::uint32_t node : now)
        nodes_.forEachNeighbour(node, [&](std::uint32_t other) {
          if (seen_[other] != search_ && !isNumbered_[other]) {
            seen_[other] = search_;
            then.push_back(other);
          }
        });
      levels.last = std::move(now);
      now = std::move(then);
      ++levels.count;
    }
    return levels;
  }

  bool isLess(std::uint32_t a, std::uint32_t b) const
  {
    return std::pair(nodes_.degree(a), a) < std::pair(nodes_.degree(b), b);
  }

  std::uint32_t peripheralNode(std::uint32_t start)
  {
    Levels levels = levelsFrom(start);
    while (true) {
      const std::uint32_t other = *std::ranges::min_element(
          levels.last, [&](std::uint32_t a, std::uint32_t b) { return isLess(a, b); });
      Levels farther = levelsFrom(other);
      if (farther.count <= levels.count)
        return start;
      start = other;
      levels = std::move(farther);
    }
  }

  void addComponent(std::uint32_t any)
  {
    const std::uint32_t start = peripheralNode(any);
    std::size_t at = order_.size();
    order_.push_back(start);
    isNumbered_[start] = true;
    for (; at < order_.size(); ++at) {
      const auto firstNew = static_cast<std::ptrdiff_t>(order_.size());
      nodes_.forEachNeighbour(order_[at], [&](std::uint32_t other) {
        if (!isNumbered_[other]) {
          isNumbered_[other] = true;
          order_.push_back(other);
        }
      });
      std::sort(order_.begin() + firstNew, order_.end(),
                [&](std::uint32_t a, std::uint32_t b) { return isLess(a, b); });
    }
  }

  const Nodes& nodes_;
  std::vector<std::uint32_t> order_, seen_; // seen_: the last search that saw a node
  std::vector<bool> isNumbered_;
  std::uint32_t search_ = 0;
};

Numbering numberingOf(const Nodes& nodes, std::size_t rows)
{
  Numbering numbering;
  numbering.newOfOld.resize(rows);
  numbering.oldOfNew.reserve(rows);
  const CuthillMcKee nodesInOrder(nodes, rows);
  for (const std::uint32_t node : nodesInOrder.order())
    for (std::uint32_t row = node; row != none; row = nodes.next(row)) {
      numbering.newOfOld[row] = static_cast<std::uint32_t>(numbering.oldOfNew.size());
      numbering.oldOfNew.push_back(row);
    }
  return numbering;
}

double productsPerPair(const Context& context, const MatrixPattern& matrix, double products)
{
  const TileLists tiles = listTiles(context, matrix);
  const std::vector<std::uint64_t> pairs = countTilePairs(context, tiles, tiles);
  const auto sum = std::accumulate(pairs.begin(), pairs.end(), std::uint64_t(0));
  return sum == 0 ? 0 : products / static_cast<double>(sum);
}

}

template <class V>
CsrMatrix<V> renumbered(const Context& context, const CsrMatrix<V>& from,
                        const std::vector<std::uint32_t>& rowFrom, const std::vector<std::uint32_t>& columnTo)
{
  struct Row {
    ColumnSet columns;
    std::vector<std::uint32_t> place;     // of a column in the given row
    std::vector<std::uint32_t> order;     // for each entry of the new row: its place in the given one
    std::span<const std::uint32_t> given; // the columns that it was made of
  };
  CsrMatrix<V> to{{from.rows, from.columns, Array<std::uint64_t>(from.rows + 1),
                   Array<std::uint32_t>(from.column.size())},
                  Array<V>(from.value.size())};
  to.rowStart[0] = 0;
  for (std::size_t row = 0; row < from.rows; ++row)
    to.rowStart[row + 1] = to.rowStart[row] + from.rowEntries(rowFrom[row]);
  Workspaces<Row> rows;
  forEachRange(context, from.rows, rowsAtOnce, [&](std::size_t first, std::size_t last) {
    auto made = rows.borrow([&] {
      return std::make_unique<Row>(
          Row{ColumnSet(from.columns), std::vector<std::uint32_t>(from.columns), {}, {}});
    });
    for (std::size_t row = first; row < last; ++row) {
      const std::span<const std::uint32_t> given = from.columnsOf(rowFrom[row]);
      const bool isAsBefore = row > first && std::ranges::equal(given, made->given);
      if (!isAsBefore) {
        made->order.clear();
        made->given = given;
        for (std::uint32_t i = 0; i < given.size(); ++i) {
          made->columns.add(columnTo[given[i]]);
          made->place[columnTo[given[i]]] = i;
        }
        if (!given.empty())
          made->columns.drain(0, static_cast<std::uint32_t>(from.columns - 1),
                              [&](std::uint32_t column) { made->order.push_back(made->place[column]); });
      }
      const std::uint64_t start = to.rowStart[row];
      if (isAsBefore)
        std::copy_n(to.column.data() + start - given.size(), given.size(), to.column.data() + start);
      const V* const value = from.value.data() + from.rowStart[rowFrom[row]];
      for (std::size_t i = 0; i < given.size(); ++i) {
        if (!isAsBefore)
          to.column[start + i] = columnTo[given[made->order[i]]];
        to.value[start + i] = value[made->order[i]];
      }
    }
    rows.giveBack(std::move(made));
  });
  return to;
}

template <class V>
Reordering reorderForTiles(const Context& context, const CsrMatrix<V>& matrix, bool always,
                           CsrMatrix<V>& reordered)
{
  Reordering found;
  const auto stays = [&](const std::string& why) {
    found.choice = "the rows keep their numbers: " + why;
    return found;
  };
  if (matrix.columns > largestTiledColumns)
    return stays("more than " + std::to_string(largestTiledColumns) + " columns");
  MatrixPattern top = matrix; // an eighth of the rows, which tells in little time where tiles are very full
  top.rows = matrix.rows / 8;
  if (const double perTile = listTiles(context, top).entriesPerTile;
      !always && perTile * perTile / tileSide >= 2 * productsPerTilePair)
    return stays("tiles are full enough");
  if (!always && !hasAlikeRows(matrix))
    return stays("few rows are alike");
  const double products = productCount(context, matrix, matrix);
  found.perPairBefore = productsPerPair(context, matrix, products);
  if (!always && found.perPairBefore >= productsPerTilePair)
    return stays("tiles are full enough");
  const Nodes nodes(matrix);
  found.nodes = nodes.count();
  Numbering numbering = numberingOf(nodes, matrix.rows);
  reordered = renumbered(context, matrix, numbering.oldOfNew, numbering.newOfOld);
  found.perPairAfter = productsPerPair(context, reordered, products);
  const std::string counts = decimals(found.perPairBefore, 1) + " products a pair of tiles as given, "
                             + decimals(found.perPairAfter, 1) + " by that of Cuthill and McKee";
  if (!always && (found.perPairAfter < 2 * found.perPairBefore || found.perPairAfter < productsPerTilePair))
    return stays(counts);
  found.numbering = std::move(numbering);
  found.choice = "the rows get the reverse order of Cuthill and McKee, for " + std::to_string(found.nodes)
                 + " nodes: " + counts;
  return found;
}

TESSERA_INSTANTIATE_FOR_NUMBERS(reorderForTiles<V>, renumbered<V>);

}
