#pragma once

#include "Core/Compute/PinnedValues.h"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/ProductAnalysisOnCuda.h"
#include "Core/Sparse/SideStreams.h"
#include "Core/Sparse/SpGemmOptions.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tessera {

/// How a product of matrices on a CUDA device is made.
struct SpGemmOnCudaOptions {
  Semiring semiring = Semiring::plusTimes;
  SpGemmAlgorithm algorithm = SpGemmAlgorithm::automatic; // or tiles or rows
  double productsPerTilePair = productsPerTilePairOnCuda; // automatic: tiles from so many on
  std::size_t maxMemoryBytes = 0;                         // for C and what it takes to make it; 0: what the device has
};

/// C = A B on a CUDA device. Rows of C whose groups of 8 are dense enough in tiles of 8 x 8 are summed up by tensor cores, in
/// double precision whatever V is; the others row by row. The host waits twice, for the size of the work and for that of C (once
/// more for int64). The same A and B give the same bits on the same device. Tiles serve plus-times over float and double with
/// finite numbers, up to 65535 tiles in 8 rows of B. V is float, double or int64.
class SpGemmOnCuda {
public:
  /// Throws Error(device) unless the context is on a CUDA device.
  explicit SpGemmOnCuda(const Context&);

  /// Throws Error(usage) for sizes that do not fit, more than largestColumnsOnCuda columns, an algorithm that cannot do the work or
  /// a sum of int64 beyond 64 bits, and Error(outOfMemory) with the bytes needed.
  template <class V>
  CsrOnCuda<V> multiply(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b, const SpGemmOnCudaOptions& = {}, SpGemmReport* = nullptr);

  /// Rows firstRow .. lastRow - 1 of C.
  template <class V>
  CsrOnCuda<V> multiplyRows(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b, std::size_t firstRow, std::size_t lastRow,
                            const SpGemmOnCudaOptions& = {}, SpGemmReport* = nullptr);

  /// What would be done, without doing it.
  template <class V>
  SpGemmReport describe(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b, const SpGemmOnCudaOptions& = {});

  /// First rows, multiples of 8, of ranges that multiplyRows can do within the memory limit whatever C is, and the number of rows;
  /// `bytesAProduct` are what another method takes beside. Throws Error(outOfMemory) if 8 rows are too much.
  template <class V>
  std::vector<std::size_t> rangeStarts(const CsrOnCuda<V>& a, const CsrOnCuda<V>& b, std::size_t maxMemoryBytes,
                                       std::uint64_t bytesAProduct = 0);

private:
  template <class V>
  AnalysisTotals analyse(const CsrView<V>& a, const CsrView<V>& b, bool same, const SpGemmOnCudaOptions&,
                         const std::string& whyNoTiles, ProductAnalysisOnCuda&, SpGemmReport&);
  template <class V>
  CsrOnCuda<V> multiplyViews(const CsrView<V>& a, const CsrView<V>& b, bool same, const SpGemmOnCudaOptions&, SpGemmReport&);

  Context context_;
  SideStreams streams_;
  PinnedValues<AnalysisTotals> totals_;
  PinnedValues<std::uint64_t> entries_;
};

}
