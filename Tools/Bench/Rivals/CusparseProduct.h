#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Sparse/CsrOnCuda.h"

#include <cstdint>
#include <memory>

namespace tessera {

/// C = A B by NVIDIA's cuSPARSE (generic SpGEMM), for comparison in benchmarks. The library is loaded when
/// the first object is made. V is float or double.
template <class V>
class CusparseProduct {
public:
  /// Throws Error(device) if libcusparse.so.12 is not found, and Error(usage) if sizes or numbers of entries
  /// do not fit into 32 bits.
  TESSERA_CUDA_ONLY CusparseProduct(const Context&, const CsrOnCuda<V>& a, const CsrOnCuda<V>& b);
  TESSERA_CUDA_ONLY ~CusparseProduct();

  /// A matrix in the form that cuSPARSE returns: row starts of 32 bits; columns of a row in any order.
  struct Result {
    std::uint64_t entries = 0;
    Buffer<std::int32_t> rowStart;
    Buffer<std::uint32_t> column;
    Buffer<V> value;
  };
  /// Computes C by CUSPARSE_SPGEMM_ALG1, ALG2 or ALG3 (`variant` 1, 2 or 3), including allocation and release
  /// of all memory but that of A and B. Throws Error(device) with cuSPARSE's description.
  TESSERA_CUDA_ONLY Result multiply(int variant);

  /// SpGEMMreuse: keepPattern() finds the pattern of C; recompute() then computes its values from the present
  /// values of A and B.
  TESSERA_CUDA_ONLY void keepPattern();
  TESSERA_CUDA_ONLY void recompute();
  /// The result of the last recompute().
  TESSERA_CUDA_ONLY const Result& kept() const;

  /// Copies a result to host memory and sorts its rows by column.
  TESSERA_CUDA_ONLY CsrMatrix<V> broughtToHost(const Result&) const;

private:
  struct State;
  struct Reuse;
  std::unique_ptr<State> state_;
};

}
