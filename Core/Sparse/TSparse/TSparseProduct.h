#pragma once

#include "Core/Compute/PinnedValues.h"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/SpGemmOptions.h"
#include "Core/Sparse/TSparse/TSparseTasks.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tessera {

/// How a product by tSparse is made.
struct TSparseOptions {
  bool tensorCores = true;        // false: the same tiles and tasks, multiplied without them
  bool withoutZeros = false;      // entries that are zero, and tiles of nothing else, are left out of C
  std::size_t maxMemoryBytes = 0; // for C and what it takes to make it; 0: what the device has
};

/// C = A B on a CUDA device as tSparse does it (O. Zachariadis, N. Satpute, J. Gomez-Luna, J. Olivares:
/// Accelerating sparse matrix-matrix multiplication with GPU Tensor Cores, 2020): 8 x 8 tiles as bitmaps, a
/// list of tasks (pairs of tiles) that is expanded, pruned and sorted by the tile of C, a counting and a
/// multiplication kernel on tensor cores that work on two tiles of C at once, operands in half precision and
/// sums in single. Rows of A and columns of B are divided by powers of two before they are rounded, see
/// HalfPrecision.h, and C is multiplied by them. The same A and B give the same bits.
class TSparseProduct {
public:
  /// Throws Error(device) unless the context is on a CUDA device.
  explicit TSparseProduct(const Context&);

  /// Throws Error(usage) for sizes that do not fit, 2^32 entries of A or B or more, or numbers that are not
  /// finite (what is no entry takes part as a zero), and Error(outOfMemory) with what is needed.
  CsrOnCuda<float> multiply(const CsrOnCuda<float>& a, const CsrOnCuda<float>& b, const TSparseOptions& = {},
                            SpGemmReport* = nullptr);

  /// Rows firstRow .. lastRow - 1 of C; firstRow is a multiple of 8.
  CsrOnCuda<float> multiplyRows(const CsrOnCuda<float>& a, const CsrOnCuda<float>& b, std::size_t firstRow,
                                std::size_t lastRow, const TSparseOptions& = {}, SpGemmReport* = nullptr);

private:
  struct Tiles;
  Tiles makeTiles(const CsrView<float>& a, const CsrView<float>& b, std::uint64_t entriesOfA,
                  std::uint64_t entriesOfB, bool same, SpGemmReport&);
  CsrOnCuda<float> multiplyViews(const CsrView<float>& a, const CsrView<float>& b, std::uint64_t entriesOfA,
                                 std::uint64_t entriesOfB, bool same, const TSparseOptions&, SpGemmReport&);

  Context context_;
  TaskListMaker tasks_;
  PinnedValues<AnalysisTotals> totals_;
  PinnedValues<std::uint64_t> entries_, stored_;
};

}
