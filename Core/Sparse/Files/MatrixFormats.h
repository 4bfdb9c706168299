#pragma once

#include "Core/Sparse/Files/TextInput.h"
#include "Core/Sparse/MatrixFile.h"

#include <functional>
#include <string>
#include <string_view>

namespace tessera {

// One reader and one writer a format; MatrixFile.h chooses.

/// Where a writer puts its bytes, one piece after the other.
using ByteSink = std::function<void(std::string_view)>;

/// Matrix Market coordinate files: real, integer or pattern; general, symmetric or skew-symmetric, which
/// become general. (R. F. Boisvert, R. Pozo, K. Remington: The Matrix Market Exchange Formats, NISTIR 5935,
/// 1996.)
MatrixFile readMatrixMarket(const Context&, const TextInput&);
void writeMatrixMarket(const Context&, const AnyCsrMatrix&, bool pattern, const ByteSink&);
/// The parts of such a file: banner and size line, and the entries of rows that are numbered from `firstRow`
/// on.
std::string matrixMarketHead(const AnyCsrMatrix& example, bool pattern, std::size_t rows, std::size_t columns,
                             std::uint64_t entries);
void writeMatrixMarketRows(const Context&, const AnyCsrMatrix&, bool pattern, std::size_t firstRow,
                           const ByteSink&);

/// METIS graphs: node i's line names its neighbours from 1, with weights of edges if the first line says so;
/// a row a node. (G. Karypis: METIS 5 manual, section 4.1.1.)
MatrixFile readMetis(const Context&, const TextInput&);
/// Throws Error(usage) unless the matrix is symmetric with an empty diagonal and weights above zero.
void writeMetis(const Context&, const AnyCsrMatrix&, bool pattern, const std::string& path, const ByteSink&);

/// Lines "from to" or "from to weight", nodes from 0; lines that begin with # or % are comments. As large as
/// the largest node.
MatrixFile readEdgeList(const Context&, const TextInput&);
void writeEdgeList(const Context&, const AnyCsrMatrix&, bool pattern, const ByteSink&);

/// SciPy's .npz: csr, csc and coo; stored or deflated; any real numbers. Written as csr, stored.
MatrixFile readNpz(const Context&, const std::string& path);
void writeNpz(const AnyCsrMatrix&, const ByteSink&);

/// Our own: a head of 128 bytes, then row starts (8 bytes each), columns (4) and values as they lie in
/// memory, each from a multiple of 64 bytes on; little endian. The head, from byte 0: "TESSCSR\n"; version (4
/// bytes), what values are (4: 1 double, 2 float, 3 int64); 1 if each entry is 1 (8); rows, columns, entries
/// (8 each); where the three arrays begin (8 each); bytes of the file (8); zeros up to byte 124; CRC-32 of
/// the 124 bytes before (4). The file is mapped; its values are read from the disk when they are used.
MatrixFile readBinaryCsr(const Context&, const std::string& path);
void writeBinaryCsr(const AnyCsrMatrix&, bool pattern, const ByteSink&);

/// Text of rows in parallel: rowsText(firstRow, lastRow, text) appends; pieces come to `sink` in order.
void writeRowsInOrder(const Context&, const AnyCsrMatrix&,
                      const std::function<void(std::size_t, std::size_t, std::string&)>& rowsText,
                      const ByteSink& sink);

/// Appends a number so that reading gives it back.
template <class V>
void appendNumber(std::string& text, V value);

}
