#pragma once

#include "Core/Sparse/Rows/RowEpilogueOnCuda.h"
#include "Core/Sparse/SpGemmOnCuda.h"
#include "Core/Sparse/SpGemmOptions.h"
#include "Core/Sparse/TSparse/TSparseProduct.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera {

/// A product of matrices of the host, with all its options, on a CUDA device: what SpGemm.h does there.
template <class V>
class PreparedProductOnCuda {
public:
  /// Brings the operands to the device. Throws as SpGemm.h says.
  PreparedProductOnCuda(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                        const SpGemmOptions<V>&);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  SpGemmReport describe();

  /// Rows firstRow .. lastRow - 1 of C, multiples of 8 or the last row.
  CsrMatrix<V> multiply(std::size_t firstRow, std::size_t lastRow);
  /// The same at once if the device's memory or the limit allows, else in ranges.
  CsrMatrix<V> multiplyWithinMemory(std::size_t firstRow, std::size_t lastRow);
  /// First rows of ranges that fit into the limit whatever C is, and the number of rows.
  std::vector<std::size_t> rangeStarts();
  /// First rows of `parts` ranges of about as many products, and the number of rows.
  std::vector<std::size_t> balancedStarts(std::size_t parts);
  /// From now on ranges of rows have the bits that they have in all of C made at once.
  void choose();

  /// Of what was done so far.
  const SpGemmReport& report() const { return report_; }

private:
  CsrOnCuda<V> productOfRows(std::size_t firstRow, std::size_t lastRow);
  CsrOnCuda<V> productByTSparse(std::size_t firstRow, std::size_t lastRow, SpGemmReport&);

  Context context_;
  SpGemmOptions<V> options_;
  SpGemmOnCudaOptions onCuda_;
  SpGemmOnCuda spGemm_;
  std::optional<TSparseProduct> tSparse_; // if it is asked for
  std::size_t rows_ = 0, columns_ = 0;
  CsrOnCuda<V> a_;
  std::optional<CsrOnCuda<V>> b_; // none: it is A
  Buffer<std::uint64_t> maskStart_;
  Buffer<std::uint32_t> maskColumn_;
  std::optional<CsrOnCuda<V>> accumulate_;
  Buffer<std::int32_t> rowExponent_,
      columnExponent_; // of half precision, where the factors were scaled before
  SpGemmReport report_;
};

/// Ranges of rows, one below the other.
template <class V>
CsrMatrix<V> joinedRanges(std::size_t rows, std::size_t columns, const std::vector<CsrMatrix<V>>& ranges);

}
