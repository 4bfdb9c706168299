#pragma once

#include "Core/Sparse/SpGemmOptions.h"
#include "Core/Sparse/SpGemmPlanOnCuda.h"

#include <optional>

namespace tessera {

/// A plan for matrices of the host on a CUDA device: what SpGemmPlan does there.
template <class V>
class PreparedPlanOnCuda {
public:
  /// A and B are prepared operands. Throws as SpGemm.h says.
  PreparedPlanOnCuda(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b, const SpGemmOptions<V>&);

  /// C for other numbers of the prepared operands, with its pattern on the host.
  CsrMatrix<V> multiply(const Array<V>& a, const Array<V>& b);
  /// Its numbers alone.
  Array<V> execute(const Array<V>& a, const Array<V>& b);

private:
  CsrOnCuda<V> product(const Array<V>& a, const Array<V>& b);

  Context context_;
  SpGemmOptions<V> options_;
  CsrOnCuda<V> a_;
  std::optional<CsrOnCuda<V>> b_; // none: its pattern is that of A
  Buffer<V> numbersOfB_;          // where it is
  Buffer<std::uint64_t> maskStart_;
  Buffer<std::uint32_t> maskColumn_;
  SpGemmPlanOnCuda<V> plan_;
};

}
