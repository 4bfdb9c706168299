#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Sparse/CsrOnCuda.h"

#include <cstdint>
#include <memory>

namespace tessera {

/// C = A B by NVIDIA's cuSPARSE (its generic SpGEMM), to compare with. The library is loaded when the first
/// one is made; it need not be there otherwise. V is float or double.
template <class V>
class CusparseProduct {
public:
  /// Throws Error(device) if libcusparse.so.12 is not found, and Error(usage) for sizes or entries that do
  /// not fit 32 bits.
  CusparseProduct(const Context&, const CsrOnCuda<V>& a, const CsrOnCuda<V>& b);
  ~CusparseProduct();

  /// As cuSPARSE makes it: 32-bit row starts, columns of a row in any order.
  struct Result {
    std::uint64_t entries = 0;
    Buffer<std::int32_t> rowStart;
    Buffer<std::uint32_t> column;
    Buffer<V> value;
  };
  /// By CUSPARSE_SPGEMM_ALG1, 2 or 3; memory for everything but A and B is taken and given back. Throws
  /// Error(device) with cuSPARSE's words.
  Result multiply(int variant);

  /// Its SpGEMMreuse: the pattern of C once, then numbers of that pattern again and again, from those that A
  /// and B have now.
  void keepPattern();
  void recompute();
  /// What recompute made.
  const Result& kept() const;

  /// A result on the host, columns rising.
  CsrMatrix<V> broughtToHost(const Result&) const;

private:
  struct State;
  struct Reuse;
  std::unique_ptr<State> state_;
};

}
