#pragma once

#include "Core/Sparse/CsrMatrix.h"
#include "Core/Sparse/Semiring.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tessera {

/// How products are computed. `automatic` chooses between tiles and rows for each group of 8 rows of A;
/// `tsparse` is for CUDA devices.
enum class SpGemmAlgorithm { automatic, tiles, rows, tsparse };

/// C = mask(scale * (A B)) + D, then without small entries; sums are those of the semiring.
template <class V>
struct SpGemmOptions {
  Semiring semiring = Semiring::plusTimes;
  SpGemmAlgorithm algorithm = SpGemmAlgorithm::automatic;
  bool transposeA = false, transposeB = false;
  std::optional<MatrixPattern>
      mask; // entries of A B stay where it has entries (whatever their values); rows of rising columns
  bool complementMask = false; // they stay where it has none
  std::optional<V> scale;
  std::optional<CsrMatrix<V>> accumulate; // D; not masked; rows of rising columns
  std::optional<double>
      dropTolerance; // entries of at most this magnitude go; not given: zeros stay where they arise
  bool half = false; // V is float: see HalfPrecision.h
  std::size_t maxMemoryBytes =
      0; // for C and what it takes to make it, without A and B; 0: what the system has
};

/// Throws Error(usage) for options that do not fit each other or a product of that size, and
/// Error(unreadableInput) for a mask or D that is no matrix.
template <class V>
void checkOptionsOf(const Context&, std::size_t rows, std::size_t columns, const SpGemmOptions<V>&);

/// What was found and done.
struct SpGemmReport {
  std::uint64_t products = 0, entriesBound = 0;    // pairs of entries that meet; entries of C at most
  double entriesPerTileA = 0, entriesPerTileB = 0; // of tiles that have any; 0 if they were not counted
  std::uint64_t groups = 0, tileGroups = 0;        // of 8 rows; how many of them by tiles
  std::uint64_t ranges = 1;                        // of rows, one after the other, to stay in the memory
  std::uint64_t bytesTaken = 0; // of a CUDA device's memory at most, C among them, without A and B
  std::string choice;           // a line that says which method and why

  /// What was found and done for other rows of the same product; ranges stay.
  void add(const SpGemmReport&);
};

}
