#pragma once

#include "Core/Sparse/Files/Triplets.h"

#include <cstdint>
#include <string>

namespace tessera {

// Generators of matrix structures. They list the places of entries; a place may be listed more than once.

struct Places {
  std::size_t rows = 0, columns = 0;
  TripletBlock<float> entries;

  void add(std::uint64_t row, std::uint64_t column)
  {
    entries.row.push_back(static_cast<std::uint32_t>(row));
    entries.column.push_back(static_cast<std::uint32_t>(column));
  }
};

/// The matrix with entries at these places. Its values lie in [0.5, 1.5), differ from entry to entry and have
/// 24 bits.
CsrMatrix<double> matrixAt(const Context&, Places, const std::string& name);

/// A random number generator that starts from the same seed for every matrix. Source: G. Marsaglia: Xorshift
/// RNGs, 2003 (xorshift64).
class Xorshift {
public:
  std::uint64_t next()
  {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  /// A number in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

/// A mesh of nx x ny x nz nodes, x fastest, with some unknowns at each node. Unknowns of the same node and of
/// neighbouring nodes have entries.
struct Mesh {
  /// Tetrahedra are those of Kuhn's division: neighbours differ by 0 or 1 along each axis, all in the same
  /// direction.
  enum class Cells { hexahedra, tetrahedra, sevenPoints } cells;
  std::uint64_t nx, ny, nz, unknowns;
  std::uint64_t randomLinks = 0;   // number of further pairs of nodes
  std::uint64_t longestLink = 200; // largest difference of the numbers of such nodes
  bool shuffled = false;           // numbers the nodes in a random order
  double kept = 1;                 // share of the entries off the diagonal that stay
};
Places meshPlaces(const Mesh&);

/// A symmetric band: all places within `halfWidth` of the diagonal, but only a share of the outer quarter.
Places bandPlaces(std::uint64_t size, std::uint64_t halfWidth, double keptOfOuterQuarter);
/// The hopping terms of Wilson fermions on a periodic lattice of 8^4 sites with 4 spins and 3 colours.
Places latticeFermionPlaces();
/// The states (S, I), S + I < size, of an epidemic, with the transitions: none, infection, recovery, loss of
/// immunity.
Places epidemicPlaces(std::uint64_t size);
/// The boundary map of the matching complex of triples of 13 points, from sets of four disjoint triples to
/// sets of three.
Places matchingComplexPlaces();
/// The reptation of words over three letters: the letters at both ends change freely, a pair of inner letters
/// only where it is a kink.
Places reptationPlaces(int length, std::uint64_t size);

Places uniformPlaces(std::uint64_t size, std::uint64_t draws);
/// A recursive matrix (R-MAT) with slightly perturbed parameters a = 0.57, b = c = 0.19; draws until there
/// are `entries` different places. Source: D. Chakrabarti, Y. Zhan, C. Faloutsos: R-MAT: a recursive model
/// for graph mining, 2004.
Places recursivePlaces(int scale, std::uint64_t entries);
/// Pages on hosts whose sizes follow a power law. A page links within its host, to the same pages as the page
/// before it, or anywhere.
struct Web {
  std::uint64_t pages, links;
  double outExponent, maxLinks, withinHost, globalSkew, hostExponent, inSkew, largestHost, asBefore;
};
Places webPlaces(const Web&);
/// Papers that cite earlier papers, preferably recent ones, or papers that these cite. The first 40 % cite
/// nothing.
Places citationPlaces(std::uint64_t papers, double citations);

}
