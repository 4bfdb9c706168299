#pragma once

#include "Core/Sparse/CsrMatrix.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

/// A matrix that can be made anywhere, with the structure of one that products are usually measured with.
/// Names that end in _like are not the matrix of that name, but of its kind and about its size.
struct BenchmarkMatrix {
  const char* name;
  const char* structure;
  std::uint64_t rows, entries, products, entriesOfSquare; // of A; of A A
};

/// All of them, in the order of a report.
const std::vector<BenchmarkMatrix>& benchmarkMatrices();

/// Values lie in [0.5, 1.5), drawn for each entry, and have 24 bits. Throws Error(usage) with all names for
/// an unknown one.
CsrMatrix<double> makeBenchmarkMatrix(const Context&, const std::string& name);

}
