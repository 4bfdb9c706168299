#pragma once

#include "Core/Sparse/CsrMatrix.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

/// A matrix that is computed instead of downloaded, with the structure of a matrix that sparse products are
/// often measured with. A name that ends in _like stands for a matrix of the same kind and about the same
/// size as the one named.
struct BenchmarkMatrix {
  const char* name;
  const char* structure;
  std::uint64_t rows, entries;             // of A
  std::uint64_t products, entriesOfSquare; // of A A
};

/// All benchmark matrices, in the order of reports.
const std::vector<BenchmarkMatrix>& benchmarkMatrices();

/// Makes a benchmark matrix. Its values lie in [0.5, 1.5), differ from entry to entry and have 24 bits.
/// Throws Error(usage), with all names, for an unknown one.
CsrMatrix<double> makeBenchmarkMatrix(const Context&, const std::string& name);

}
