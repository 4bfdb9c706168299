#pragma once

#include "Core/Sparse/Files/Triplets.h"

#include <cstdint>

namespace tessera {

// Places of entries, some of them more than once; each entry is 1.

struct Places {
  std::size_t rows = 0, columns = 0;
  TripletBlock<float> entries;

  void add(std::uint64_t row, std::uint64_t column)
  {
    entries.row.push_back(static_cast<std::uint32_t>(row));
    entries.column.push_back(static_cast<std::uint32_t>(column));
  }
};

/// xorshift64 (G. Marsaglia: Xorshift RNGs, 2003), from one seed for every matrix.
class Xorshift {
public:
  std::uint64_t next()
  {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  /// In [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

/// Nodes of a mesh of nx x ny x nz, x fastest, each with itself and its neighbours, and unknowns at each
/// node.
struct Mesh {
  enum class Cells {
    hexahedra,
    tetrahedra,
    sevenPoints
  } cells; // tetrahedra: Kuhn's, whose neighbours differ by 0 or 1 in each axis
  std::uint64_t nx, ny, nz, unknowns;
  std::uint64_t randomLinks = 0, longestLink = 200; // pairs of nodes in addition, at most so far apart
  bool shuffled = false;                            // nodes in a random order
  double kept = 1;                                  // share of the pairs off the diagonal
};
Places meshPlaces(const Mesh&);

/// All within `halfWidth` of the diagonal; of the outer quarter a share, symmetric.
Places bandPlaces(std::uint64_t size, std::uint64_t halfWidth, double keptOfOuterQuarter);
/// Hopping terms of Wilson fermions on a periodic lattice of 8^4, 4 spins x 3 colours.
Places latticeFermionPlaces();
/// An epidemic's states (S, I), S + I < size: stay, infection, recovery, loss of immunity.
Places epidemicPlaces(std::uint64_t size);
/// Boundary map of the matching complex of triples of 13 points: sets of four disjoint triples to sets of
/// three.
Places matchingComplexPlaces();
/// Words of a length over three letters: ends move freely, an inner pair where it is a kink.
Places reptationPlaces(int length, std::uint64_t size);

Places uniformPlaces(std::uint64_t size, std::uint64_t draws);
/// Recursive quadrants (D. Chakrabarti et al.: R-MAT, 2004) with a = 0.57, b = c = 0.19, perturbed a little,
/// until `entries` differ.
Places recursivePlaces(int scale, std::uint64_t entries);
/// Pages of hosts of power-law sizes that link within their host, as the page before them, or anywhere.
struct Web {
  std::uint64_t pages, links;
  double outExponent, mostLinks, withinHost, globalSkew, hostExponent, inSkew, largestHost, asBefore;
};
Places webPlaces(const Web&);
/// Papers that cite earlier ones, recent ones rather, or what these cite; the first 40 % cite nothing.
Places citationPlaces(std::uint64_t papers, double citations);

}
