#pragma once

#include "Core/Sparse/SpGemmPlanOnCuda.h"

#include <optional>
#include <string>

namespace tessera {

/// R A P on a CUDA device, again and again for other values of A; all matrices stay there. GalerkinPlan is
/// the same for matrices in host memory.
template <class V>
class GalerkinPlanOnCuda {
public:
  /// R, A and P must outlive the plan. Throws as SpGemmOnCuda::multiply.
  TESSERA_CUDA_ONLY GalerkinPlanOnCuda(const Context&, const CsrOnCuda<V>& r, const CsrOnCuda<V>& a,
                                       const CsrOnCuda<V>& p, bool startsWithR,
                                       const SpGemmOnCudaOptions& = {});

  /// R A P. Its values are those of the constructor's A; they are there until the first execution.
  const CsrOnCuda<V>& first() const { return outer_->first(); }
  /// The pattern of A P, or of R A.
  const CsrOnCuda<V>& between() const { return inner_->pattern(); }

  /// How both products are made, a line for the log.
  std::string methods() const { return inner_->method() + "; " + outer_->method(); }

  /// The values of R A P for other values of A, which lie in device memory in the order of the entries. The
  /// host waits once if a product uses tiles, and for int64.
  TESSERA_CUDA_ONLY Buffer<V> execute(const V* a);

private:
  const CsrOnCuda<V>&r_, &p_;
  Context context_;
  bool startsWithR_, factorsAreFinite_ = true;
  std::optional<SpGemmPlanOnCuda<V>> inner_, outer_;
};

}
