#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Memory/PinnedValues.h"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/SpGemmOptions.h"
#include "Core/Sparse/TSparse/TSparseTasks.h"

#include <cstddef>
#include <cstdint>

namespace tessera {

/// The options of a product by tSparse.
struct TSparseOptions {
  bool tensorCores = true;        // false: the same tiles and tasks without tensor cores
  bool withoutZeros = false;      // leaves out entries that are zero, and tiles with no other entry
  std::size_t maxMemoryBytes = 0; // for C and the work on it; 0: what the device has
  PartListener listener = {};     // hears of tiles, tasks, sorting, counting, multiplying and compacting
};

/// C = A B on a CUDA device by the method tSparse, in half precision. Source: O. Zachariadis, N. Satpute, J.
/// Gomez-Luna, J. Olivares: Accelerating sparse matrix-matrix multiplication with GPU Tensor Cores, 2020.
/// Section and algorithm numbers in this folder are those of the first author's doctoral thesis, chapter 3
/// ("thesis").
///
/// The method (thesis, Algorithm 2):
///   A and B become 8 x 8 tiles: a bitmap and the values, in half precision, of each tile
///   lines 1-5: list the pairs of tiles that meet; pairs whose boolean product is empty are left out
///   lines 6-7: sort these tasks by the tile of C
///   lines 8-14: count the tiles of C and take memory for them
///   lines 15-16: the counting kernel finds the entries of each tile of C; take memory for them
///   line 17: the multiplication kernel computes their values, with sums in single precision
///   lines 18-19: if asked for, leave out zeros and empty tiles
///   the tiles of C become rows in CSR
///
/// Rows of A and columns of B are divided by powers of two before rounding (see HalfPrecision.h), and C is
/// multiplied by them. The same A and B give the same bits.
class TSparseProduct {
public:
  /// The context must be on a CUDA device.
  TESSERA_CUDA_ONLY explicit TSparseProduct(const Context&);

  /// C with rising columns in each row. Throws Error(usage) for sizes that do not fit, for 2^32 or more
  /// entries of A or B, and for values that are not finite (places without an entry are multiplied as zeros).
  /// Throws Error(outOfMemory) with the bytes or tasks that are needed.
  TESSERA_CUDA_ONLY CsrOnCuda<float> multiply(const CsrOnCuda<float>& a, const CsrOnCuda<float>& b,
                                              const TSparseOptions& = {}, SpGemmReport* = nullptr);

  /// Rows firstRow .. lastRow - 1 of C; firstRow must be a multiple of 8.
  TESSERA_CUDA_ONLY CsrOnCuda<float> multiplyRows(const CsrOnCuda<float>& a, const CsrOnCuda<float>& b,
                                                  std::size_t firstRow, std::size_t lastRow,
                                                  const TSparseOptions& = {}, SpGemmReport* = nullptr);

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
