#pragma once

#include "Core/Sparse/Rows/RowEpilogueOnCuda.h"
#include "Core/Sparse/SpGemmOnCuda.h"
#include "Core/Sparse/SpGemmOptions.h"
#include "Core/Sparse/TSparse/TSparseProduct.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace tessera {

/// The operands of a product as they are multiplied, in host memory: checked, transposed and rounded as the
/// options say.
template <class V>
struct PreparedOperands {
  /// Throws as SpGemm.h says.
  PreparedOperands(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b, const SpGemmOptions<V>&);

  CsrMatrix<V> a;
  std::optional<CsrMatrix<V>> b; // empty if B is A
  // The exponents of the powers of two by which rows of A and columns of B were divided for half precision.
  std::vector<std::int32_t> rowExponent, columnExponent;
};

/// Some rows of C where they were made.
template <class V>
struct RowsOfProduct {
  CsrOnCuda<V> onCuda;
  std::vector<CsrMatrix<V>> ranges; // if the device has too little memory for all rows at once: they are here

  std::uint64_t entries() const;
};

/// A product of matrices in host memory, computed with all options on a CUDA device. SpGemm.h is the public
/// interface to it.
template <class V>
class PreparedProductOnCuda {
public:
  /// Copies the operands to the device. Throws as SpGemm.h says.
  PreparedProductOnCuda(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                        const SpGemmOptions<V>&);
  /// Copies prepared operands to the device.
  PreparedProductOnCuda(const Context&, const PreparedOperands<V>&, const SpGemmOptions<V>&);

  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_; }
  SpGemmReport describe();

  /// Rows firstRow .. lastRow - 1 of C. Both are multiples of 8, or lastRow is the number of rows.
  CsrMatrix<V> multiply(std::size_t firstRow, std::size_t lastRow)
  {
    return broughtToHost(context_, onDevice(firstRow, lastRow));
  }
  /// The same rows, at once if the device's memory and the limit allow it, in ranges otherwise.
  RowsOfProduct<V> multiplyWithinMemory(std::size_t firstRow, std::size_t lastRow);
  /// Copies them to their place in C, which has memory for all its entries: see placeOnHost.
  void place(const RowsOfProduct<V>&, CsrMatrix<V>& c, std::size_t firstRow, std::uint64_t firstEntry) const;
  /// Cuts the rows into ranges that fit into the memory limit in every case. Returns the first row of each
  /// range and, at the end, the number of rows.
  std::vector<std::size_t> rangeStarts()
  {
    std::vector<std::size_t> starts =
        spGemm_.rangeStarts(a_, b_ ? *b_ : a_, options_.maxMemoryBytes, tSparse_ ? bytesATask : 0);
    if (starts.size() > 2)
      choose();
    return starts;
  }
  /// Cuts the rows into `parts` ranges of about equal numbers of products. Returns the first row of each
  /// range and, at the end, the number of rows.
  std::vector<std::size_t> balancedStarts(std::size_t parts);
  /// Fixes the choice between tiles and rows by all rows of A, so that ranges of rows get the same bits as
  /// the whole product.
  void choose() { onCuda_ = spGemm_.choiceFor(a_, b_ ? *b_ : a_, onCuda_); }

  /// Covers all rows that were multiplied so far.
  const SpGemmReport& report() const { return report_; }

private:
  CsrOnCuda<V> onDevice(std::size_t firstRow, std::size_t lastRow);
  CsrOnCuda<V> productOfRows(std::size_t firstRow, std::size_t lastRow)
  {
    SpGemmReport report;
    CsrOnCuda<V> c = tSparse_ ? productByTSparse(firstRow, lastRow, report)
                              : spGemm_.multiplyRows(a_, b_ ? *b_ : a_, firstRow, lastRow, onCuda_, &report);
    report_.add(report);
    return c;
  }
  CsrOnCuda<V> productByTSparse(std::size_t firstRow, std::size_t lastRow, SpGemmReport&);
  /// Chooses inner products if the mask leaves far fewer of them than there are products.
  void chooseByMask(const Context&, const PreparedOperands<V>&);
  SpGemmReport reportOfMasked(std::size_t firstRow, std::size_t lastRow) const;
  CsrOnCuda<V> maskedRows(std::size_t firstRow, std::size_t lastRow);

  Context context_;
  SpGemmOptions<V> options_;
  SpGemmOnCudaOptions onCuda_;
  SpGemmOnCuda spGemm_;
  std::optional<TSparseProduct> tSparse_; // only for the algorithm tsparse
  std::size_t rows_ = 0, columns_ = 0;
  CsrOnCuda<V> a_;
  std::optional<CsrOnCuda<V>> b_; // empty if B is A
  Buffer<std::uint64_t> maskStart_;
  Buffer<std::uint32_t> maskColumn_;
  std::optional<CsrOnCuda<V>> accumulate_;
  Buffer<std::int32_t> rowExponent_, columnExponent_;
  SpGemmReport report_;
  std::uint64_t productsByMask_ = 0; // of the unmasked product if inner products are chosen, else 0
};

}
