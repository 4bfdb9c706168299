#include "Core/Sparse/Files/Deflate.h"
#include "Core/Sparse/Files/MatrixFormats.h"
#include "Core/Sparse/Files/Triplets.h"

#include "Core/Compute/Error.h"

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

struct MetisHead {
  std::uint64_t nodes = 0, edges = 0;
  bool sizes = false, edgeWeights = false;
  std::uint64_t nodeWeights = 0; // numbers before the neighbours in each line
  std::size_t end = 0;           // position of the first byte behind the head
};

bool isComment(const LineWords& words)
{
  return !words.atEnd() && (words.peek() == '%' || words.peek() == '#');
}

void parseMetisHead(LineWords words, MetisHead& head)
{
  head.nodes = words.index("number of nodes", 0, largestMatrixSide);
  head.edges = words.index("number of edges", 0, std::numeric_limits<std::int64_t>::max() / 2);
  if (words.atEnd())
    return;
  const char* const at = words.at();
  std::string format(words.word());
  if (format.size() > 3 || format.find_first_not_of("01") != std::string::npos)
    throw LineError{at, "\"" + format + "\" is no format",
                    "three digits of 0 and 1: node sizes, node weights, edge weights"};
  format.insert(0, 3 - format.size(), '0');
  head.sizes = format[0] == '1';
  head.edgeWeights = format[2] == '1';
  head.nodeWeights = format[1] == '1';
  if (!words.atEnd())
    head.nodeWeights *= words.index("number of node weights", 1, 1000);
  words.end("nodes, edges, format and number of node weights");
}

/// Parses the line of one node. A blank line is a node without neighbours.
void parseNode(const MetisHead& head, std::uint32_t node, LineWords words, TripletBlock<std::int64_t>& block)
{
  for (std::uint64_t i = 0; i < head.nodeWeights + head.sizes; ++i)
    words.index("weight of the node", 0, std::numeric_limits<std::int64_t>::max());
  while (!words.atEnd()) {
    const char* const at = words.at();
    block.row.push_back(node);
    block.column.push_back(static_cast<std::uint32_t>(words.index("neighbour", 1, head.nodes) - 1));
    if (block.column.back() == node)
      throw LineError{at, "node " + std::to_string(node + 1) + " is its own neighbour",
                      "edges between two nodes"};
    if (head.edgeWeights)
      block.value.push_back(static_cast<std::int64_t>(
          words.index("weight of the edge", 0, std::numeric_limits<std::int64_t>::max())));
  }
}

/// A piece of the text that has only lines of nodes.
struct NodeLines {
  std::size_t first, last; // byte positions
  std::uint64_t firstNode;
};

bool isBlankLine(std::string_view line)
{
  return LineWords(line.data(), line.data() + line.size()).atEnd();
}

/// Cuts the text into pieces of about 1 MiB and finds the number of the first node in each. Throws unless
/// there is one line for each node.
std::vector<NodeLines> nodeLines(const TextInput& input, const MetisHead& head)
{
  constexpr std::size_t pieceBytes = 1 << 20;
  const std::string_view text = input.text();
  std::vector<NodeLines> pieces;
  std::uint64_t node = 0;
  for (std::size_t at = head.end; at < text.size();) {
    const std::size_t lineStart = at;
    const std::string_view line = nextLine(text, at);
    const bool comment = isComment(LineWords(line.data(), line.data() + line.size()));
    if (node == head.nodes && !comment && !isBlankLine(line))
      input.failAt(line.data(), "a line more than there are nodes",
                   "a line each for " + std::to_string(head.nodes) + " nodes");
    if (pieces.empty() || lineStart - pieces.back().first > pieceBytes)
      pieces.push_back({lineStart, at, node});
    pieces.back().last = at;
    node += !comment && node < head.nodes;
  }
  if (node != head.nodes)
    input.fail(std::to_string(node) + " lines of nodes, but the first line says "
                   + std::to_string(head.nodes),
               "a line a node; the file may have been cut off");
  return pieces;
}

void parsePiece(const TextInput& input, const MetisHead& head, const NodeLines& piece,
                TripletBlock<std::int64_t>& block)
{
  std::uint64_t node = piece.firstNode;
  for (std::size_t at = piece.first; at < piece.last && node < head.nodes;) {
    const std::string_view line = nextLine(input.text(), at);
    const LineWords words(line.data(), line.data() + line.size());
    if (!isComment(words))
      parseNode(head, static_cast<std::uint32_t>(node++), words, block);
  }
}

std::vector<TripletBlock<std::int64_t>> parseNodes(const Context& context, const TextInput& input,
                                                   const MetisHead& head)
{
  const std::vector<NodeLines> pieces = nodeLines(input, head);
  std::vector<TripletBlock<std::int64_t>> blocks(pieces.size());
  forEachPiece(context, input, pieces.size(),
               [&](std::size_t piece) { parsePiece(input, head, pieces[piece], blocks[piece]); });
  return blocks;
}

[[noreturn]] void failAtNode(const TextInput& input, const MetisHead& head, std::size_t node,
                             const std::string& wrong)
{
  for (std::size_t at = head.end; at < input.text().size();) {
    const std::string_view line = nextLine(input.text(), at);
    if (!isComment(LineWords(line.data(), line.data() + line.size())) && node-- == 0)
      input.failAt(line.data(), wrong, "each edge named by both of its nodes, with one weight");
  }
  input.fail(wrong, "each edge named by both of its nodes, with one weight");
}

/// Throws unless both nodes of every edge name it, with the same weight.
void checkBothNodesAgree(const Context& context, const TextInput& input, const MetisHead& head,
                         const CsrMatrix<std::int64_t>& matrix)
{
  const CsrMatrix<std::int64_t> other = transposed(context, matrix);
  for (std::size_t row = 0; row < matrix.rows; ++row) {
    std::uint64_t i = matrix.rowStart[row], j = other.rowStart[row];
    const std::uint64_t last = matrix.rowStart[row + 1], otherLast = other.rowStart[row + 1];
    while (i < last && j < otherLast && matrix.column[i] == other.column[j]
           && matrix.value[i] == other.value[j])
      ++i, ++j;
    if (i == last && j == otherLast)
      continue;
    const std::string node = std::to_string(row + 1);
    if (j == otherLast || (i < last && matrix.column[i] < other.column[j]))
      failAtNode(input, head, row,
                 "node " + node + " names " + std::to_string(matrix.column[i] + 1)
                     + ", which does not name it");
    const std::string neighbour = std::to_string(other.column[j] + 1);
    if (i == last || other.column[j] < matrix.column[i])
      failAtNode(input, head, row, "node " + neighbour + " names " + node + ", which does not name it");
    failAtNode(input, head, row,
               "the edge to node " + neighbour + " has the weight " + std::to_string(matrix.value[i])
                   + " here and " + std::to_string(other.value[j]) + " there");
  }
}

/// Empty if the text ends before the line of sizes.
std::optional<MetisHead> findMetisHead(const TextInput& input)
{
  MetisHead head;
  try {
    while (head.end < input.text().size()) {
      const std::string_view line = nextLine(input.text(), head.end);
      const LineWords words(line.data(), line.data() + line.size());
      if (words.atEnd() || isComment(words))
        continue;
      parseMetisHead(words, head);
      return head;
    }
  } catch (const LineError& error) {
    input.failAt(error.at, error.wrong, error.allowed);
  }
  return std::nullopt;
}

/// The edges in one piece of an edge list.
struct Edges : TripletBlock<double> {
  const char* firstLine = nullptr;
};

void parseEdge(LineWords& words, Edges& block)
{
  if (isComment(words))
    return;
  const char* const at = words.at();
  block.row.push_back(static_cast<std::uint32_t>(words.index("node", 0, largestMatrixSide - 1)));
  block.column.push_back(static_cast<std::uint32_t>(words.index("node", 0, largestMatrixSide - 1)));
  const bool weighted = !words.atEnd();
  if (weighted)
    block.value.push_back(words.number<double>("weight"));
  words.end("two nodes, or two nodes and a weight");
  block.firstLine = block.firstLine ? block.firstLine : at;
  if (block.value.size() != (weighted ? block.row.size() : 0))
    throw LineError{at, "a weight on some lines alone", "weights on all lines or on none"};
}

}

MatrixFile readMetis(const Context& context, const TextInput& input)
{
  const std::optional<MetisHead> found = findMetisHead(input);
  if (!found)
    input.fail("it ends before the line of sizes", "a line with the numbers of nodes and edges");
  const MetisHead& head = *found;
  const auto blocks = parseNodes(context, input, head);
  std::uint64_t named = 0;
  for (const auto& block : blocks)
    named += block.row.size();
  if (named != 2 * head.edges)
    input.fail(std::to_string(named) + " neighbours are named, but the first line says "
                   + std::to_string(head.edges) + " edges",
               "each edge named by both of its nodes");
  auto [matrix, duplicates] =
      matrixFromTriplets<std::int64_t>(context, head.nodes, head.nodes, blocks, input.path);
  checkBothNodesAgree(context, input, head, matrix);
  MatrixFile file{std::move(matrix), !head.edgeWeights, duplicates};
  if (!head.edgeWeights)
    file.matrix = converted<double>(context, file.matrix);
  if (head.nodeWeights || head.sizes)
    file.notes.push_back("weights of nodes are no part of a matrix and are left out");
  return file;
}

std::optional<double> mostBytesOfMetis(const TextInput& firstLines)
{
  const std::optional<MetisHead> head = findMetisHead(firstLines);
  if (!head)
    return std::nullopt;
  const double weightsOfNodes = static_cast<double>(head->nodes * (1 + head->nodeWeights + head->sizes));
  const double neighbours = 2 * static_cast<double>(head->edges) * (1 + head->edgeWeights);
  return freeTextBytes + textBytesANumber * (weightsOfNodes + neighbours);
}

MatrixFile readEdgeList(const Context& context, const TextInput& input)
{
  std::vector<Edges> parsed = parseLines<Edges>(context, input, 0, parseEdge);
  std::vector<TripletBlock<double>> blocks;
  std::uint64_t nodes = 0, edges = 0, weights = 0;
  for (Edges& block : parsed) {
    for (const std::uint64_t node : block.row)
      nodes = std::max(nodes, node + 1);
    for (const std::uint64_t node : block.column)
      nodes = std::max(nodes, node + 1);
    edges += block.row.size();
    weights += block.value.size();
    if (weights != 0 && weights != edges)
      input.failAt(block.firstLine, "a weight on some lines alone", "weights on all lines or on none");
    blocks.push_back(std::move(block));
  }
  if (edges == 0)
    input.fail("no edge is in it", "lines with two nodes, or two nodes and a weight");
  constexpr std::uint64_t manyNodes = 1'000'000, mostNodesAnEdge = 1000; // each node is a row, used or not
  if (nodes > manyNodes && nodes / mostNodesAnEdge > edges)
    input.fail("node " + std::to_string(nodes - 1) + " in a list of " + std::to_string(edges) + " edges",
               "nodes that are numbered without large gaps");
  auto [matrix, duplicates] = matrixFromTriplets<double>(context, nodes, nodes, blocks, input.path);
  return {std::move(matrix), weights == 0, duplicates};
}

}
