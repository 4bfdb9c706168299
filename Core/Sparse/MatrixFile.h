#pragma once

#include "Core/Sparse/CsrMatrix.h"

#include <string>
#include <vector>

namespace tessera {

enum class MatrixFormat { matrixMarket, npz, metis, edgeList, binary };

/// A matrix read from a file, and further facts about the file.
struct MatrixFile {
  // Integers are read as int64, single precision as float, all other numbers as double. The columns of each
  // row rise.
  AnyCsrMatrix matrix;
  bool pattern = false;                // the file holds no values: each entry is 1
  std::uint64_t duplicates = 0;        // entries that were added to an earlier entry of the same place
  std::vector<std::string> notes = {}; // sentences about what was left out or changed
};

/// The format that a file name's suffix stands for: .mtx (also "-", standard input or output), .npz, .graph
/// or .metis, .el, .edges or .txt, .tcsr; all but .npz and .tcsr may end in .gz. Throws Error(usage) for any
/// other suffix.
MatrixFormat formatOfMatrix(const std::string& path);

/// Reads a matrix, by several threads. Throws Error(unreadableInput) `path:line: what was given: what is
/// wrong. What is allowed.`
MatrixFile readMatrix(const Context&, const std::string& path);

/// Writes a matrix. The file appears when it is whole. With `pattern`, values are left out. Throws
/// Error(unwritableOutput), and Error(usage) if the format cannot hold the matrix.
void writeMatrix(const Context&, const std::string& path, const AnyCsrMatrix&, bool pattern = false);

}
