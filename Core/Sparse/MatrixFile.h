#pragma once

#include "Core/Sparse/CsrMatrix.h"

#include <string>
#include <vector>

namespace tessera {

enum class MatrixFormat { matrixMarket, npz, metis, edgeList, binary };

/// A matrix and what a file says of it beside its entries.
struct MatrixFile {
  AnyCsrMatrix matrix;  // integers as int64, others as double unless the file holds single precision; columns
                        // of each row rise
  bool pattern = false; // the file has places alone: each entry is 1
  std::uint64_t duplicates = 0;        // entries that were added to an earlier one of the same place
  std::vector<std::string> notes = {}; // what was left out or changed, a sentence each
};

/// By the suffix: .mtx (and "-", standard input or output), .npz, .graph or .metis, .el, .edges or .txt,
/// .tcsr; but for .npz and .tcsr also with .gz behind it. Throws Error(usage) for others.
MatrixFormat formatOfMatrix(const std::string& path);

/// Reads a matrix in parallel. Throws Error(unreadableInput) `path:line: what was given: what is wrong. What
/// is allowed.`
MatrixFile readMatrix(const Context&, const std::string& path);

/// Writes a matrix whole or not at all; `pattern` writes places alone. Throws Error(unwritableOutput), and
/// Error(usage) if the format cannot hold it.
void writeMatrix(const Context&, const std::string& path, const AnyCsrMatrix&, bool pattern = false);

}
