#pragma once

#include "Core/Sparse/CsrMatrix.h"
#include "Core/Sparse/Semiring.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tessera {

/// The methods of computing a product. `automatic` chooses between tiles and rows for each group of 8 rows of
/// A. `tsparse` needs a CUDA device and half precision.
enum class SpGemmAlgorithm { automatic, tiles, rows, tsparse };

/// The options of C = mask(scale * (A B)) + D, applied in this order; entries of at most `dropTolerance` are
/// left out at the end. Sums are those of the semiring.
template <class V>
struct SpGemmOptions {
  Semiring semiring = Semiring::plusTimes;
  SpGemmAlgorithm algorithm = SpGemmAlgorithm::automatic;
  bool transposeA = false, transposeB = false;
  // Entries of A B stay only where the mask has an entry, whatever its value. Its rows must have rising
  // columns.
  std::optional<MatrixPattern> mask = {};
  bool complementMask = false; // entries stay only where the mask has none
  std::optional<V> scale = {};
  std::optional<CsrMatrix<V>> accumulate = {}; // D; it is not masked; its rows must have rising columns
  // Entries of at most this magnitude are left out. Without it, entries that happen to be zero stay.
  std::optional<double> dropTolerance = {};
  bool half = false; // operands are rounded to half precision, see HalfPrecision.h; V must be float
  // Bytes for C and for the work on it, without A and B. 0: as much as the system has.
  std::size_t maxMemoryBytes = 0;
};

/// Throws Error(usage) for options that do not fit each other or a product of `rows` x `columns`, and
/// Error(unreadableInput) for a mask or D whose arrays make no matrix.
template <class V>
void checkOptionsOf(const Context&, std::size_t rows, std::size_t columns, const SpGemmOptions<V>&);

/// Facts about a product and the way it was computed.
struct SpGemmReport {
  std::uint64_t products = 0;     // pairs of entries of A and B that meet
  std::uint64_t entriesBound = 0; // the number of entries of C is at most this
  // Averages over the tiles that have an entry; 0 if tiles were not counted.
  double entriesPerTileA = 0, entriesPerTileB = 0;
  std::uint64_t groups = 0;     // groups of 8 rows of A
  std::uint64_t tileGroups = 0; // groups that used tiles
  std::uint64_t ranges = 1;     // ranges of rows, computed one after the other because of the memory limit
  std::uint64_t bytesTaken = 0; // peak device memory, with C and without A and B
  std::string choice;           // a line for the log: the method and the reason for it

  /// Adds the report on further rows of the same product; `ranges` stays as it is.
  void add(const SpGemmReport&);
};

}
