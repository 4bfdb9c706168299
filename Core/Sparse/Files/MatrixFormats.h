#pragma once

#include "Core/Sparse/Files/TextInput.h"
#include "Core/Sparse/MatrixFile.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

// One reader and one writer for each format. MatrixFile.h chooses among them by the file's name.

/// Takes the bytes of a file piece by piece, in their order.
using ByteSink = std::function<void(std::string_view)>;

/// Matrix Market coordinate files: real, double, integer or pattern; general, symmetric or skew-symmetric.
/// All are read as general matrices, and general matrices are written. Source: R. F. Boisvert, R. Pozo, K.
/// Remington: The Matrix Market Exchange Formats, NISTIR 5935, 1996.
MatrixFile readMatrixMarket(const Context&, const TextInput&);
/// See BytesByHead; so for METIS graphs.
std::optional<double> mostBytesOfMatrixMarket(const TextInput& firstLines);
void writeMatrixMarket(const Context&, const AnyCsrMatrix&, bool pattern, const ByteSink&);
/// The two parts of such a file, for writing it in ranges of rows: the banner with the line of sizes, and the
/// entries of some rows, of which the first has number `firstRow` (from 0).
std::string matrixMarketHead(const AnyCsrMatrix& example, bool pattern, std::size_t rows, std::size_t columns,
                             std::uint64_t entries);
void writeMatrixMarketRows(const Context&, const AnyCsrMatrix&, bool pattern, std::size_t firstRow,
                           const ByteSink&);

/// METIS graphs: line i names the neighbours of node i, counted from 1, with the weight of each edge if the
/// first line announces weights. Row i of the matrix is node i. Source: G. Karypis: METIS 5 manual, section
/// 4.1.1.
MatrixFile readMetis(const Context&, const TextInput&);
std::optional<double> mostBytesOfMetis(const TextInput& firstLines);
/// Throws Error(usage) unless the matrix is symmetric, has no entry on the diagonal and, without `pattern`,
/// only whole values above zero.
void writeMetis(const Context&, const AnyCsrMatrix&, bool pattern, const std::string& path, const ByteSink&);

/// Edge lists: lines "from to" or "from to weight", nodes counted from 0; lines that begin with # or % are
/// comments. The matrix has as many rows and columns as the largest node requires.
MatrixFile readEdgeList(const Context&, const TextInput&);
void writeEdgeList(const Context&, const AnyCsrMatrix&, bool pattern, const ByteSink&);

/// SciPy's .npz files in the formats csr, csc and coo, stored or deflated, with real numbers of any type.
/// Matrices are written as csr, stored.
MatrixFile readNpz(const Context&, const std::string& path);
void writeNpz(const AnyCsrMatrix&, const ByteSink&);

/// This project's binary format: a head of 128 bytes, then row starts (8 bytes each), columns (4 bytes each)
/// and values as they lie in memory, little endian. Each array begins at a multiple of 64 bytes. The file is
/// mapped, so an array is read from the disk when it is used. The head:
/// byte 0: "TESSCSR\n"
/// byte 8: version (4 bytes), then the type of values (4 bytes): 1 double, 2 float, 3 int64
/// byte 16: 1 if the matrix is a pattern, in which each entry is 1 (8 bytes)
/// byte 24: numbers of rows, of columns and of entries (8 bytes each)
/// byte 48: positions of row starts, columns and values in the file (8 bytes each)
/// byte 72: length of the file (8 bytes); zeros up to byte 124
/// byte 124: CRC-32 of the 124 bytes before it (4 bytes)
MatrixFile readBinaryCsr(const Context&, const std::string& path);
void writeBinaryCsr(const AnyCsrMatrix&, bool pattern, const ByteSink&);

/// Writes rows as text. rowsText(firstRow, lastRow, text) appends the text of some rows and is called by
/// several threads; `sink` receives the texts in the order of the rows.
void writeRowsInOrder(const Context&, const AnyCsrMatrix&,
                      const std::function<void(std::size_t, std::size_t, std::string&)>& rowsText,
                      const ByteSink& sink);

/// Appends a number with as many digits as reading it back exactly takes.
template <class V>
void appendNumber(std::string& text, V value);

}
