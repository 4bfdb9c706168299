#pragma once

#include "Core/Sparse/CsrMatrix.h"
#include "Tools/Bench/BenchReport.h"

#include <map>
#include <string>
#include <vector>

// Table 3.1 and figures 3.8 to 3.11 of O. Zachariadis: doctoral thesis, chapter 3 (tSparse), with our numbers
// beside.
namespace tessera {

/// The place of each matrix of the table: a file of the folder (NAME.mtx or NAME.mtx.gz), else the benchmark
/// matrix in its place, else an empty text. An empty folder has no files. `only`: names of the table, empty:
/// all. Throws Error(usage) for other names.
std::map<std::string, std::string> placesOfPublished(const std::string& folder,
                                                     const std::vector<std::string>& only);

/// Numbers of a product A A by 8 x 8 tiles.
struct SquareFacts {
  double size = 0, entries = 0, entriesOfC = 0, products = 0;
  double tilesOfC = 0, pairsOfTiles = 0;      // pairs of tiles of A and B that share their k
  double median = 0, mean = 0, deviation = 0; // of the entries in a tile of C
};

/// Returns the facts of A and C = A A.
SquareFacts squareFacts(const Context&, const MatrixPattern& a, std::uint64_t entriesOfC);

/// The milliseconds of the parts of tSparse for a matrix, in their order.
using PartTimes = std::vector<std::pair<std::string, double>>;

/// The tables of matrices, of times with geometric means by group, and of the parts of tSparse. Rows of
/// matrices have the names of the places as their cases.
std::vector<BenchTable> spGemmTables(const std::map<std::string, std::string>& places,
                                     const std::map<std::string, SquareFacts>& facts,
                                     const std::map<std::string, PartTimes>& parts,
                                     const std::vector<BenchResult>&);

}
