#pragma once

#include "Core/Sparse/SpGemmOptions.h"
#include "Core/Sparse/SpGemmPlanOnCuda.h"

#include <optional>

namespace tessera {

/// The CUDA part of SpGemmPlan: a plan for matrices in host memory that multiplies on a CUDA device.
template <class V>
class PreparedPlanOnCuda {
public:
  /// A and B come from preparedOperand(). Throws as SpGemm.h says.
  PreparedPlanOnCuda(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b, const SpGemmOptions<V>&);

  /// C with its pattern, in host memory, for other values of A and B. The values are in the order of the
  /// prepared operands.
  CsrMatrix<V> multiply(const Array<V>& a, const Array<V>& b)
  {
    return broughtToHost(context_, product(a, b));
  }
  /// The values of C alone.
  Array<V> execute(const Array<V>& a, const Array<V>& b);

private:
  CsrOnCuda<V> product(const Array<V>& a, const Array<V>& b);

  Context context_;
  SpGemmOptions<V> options_;
  CsrOnCuda<V> a_;
  std::optional<CsrOnCuda<V>> b_; // empty if B has the pattern of A
  // The values of B, if they differ from those of A.
  Buffer<V> numbersOfB_;
  Buffer<std::uint64_t> maskStart_;
  Buffer<std::uint32_t> maskColumn_;
  SpGemmPlanOnCuda<V> plan_;
};

}
